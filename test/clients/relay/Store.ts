import { graphql } from 'relay-runtime'

// Only relay-compiler reads this file. A bundler with Relay's plugin would insert the artifacts here.

export const query = () => graphql`
  query StoreQuery($count: Int!, $status: PetStatus) {
    ...Store_pets @arguments(count: $count, status: $status)
  }
`

export const pets = () => graphql`
  fragment Store_pets on Query
  @refetchable(queryName: "StorePageQuery")
  @argumentDefinitions(
    count: { type: "Int", defaultValue: 20 }
    cursor: { type: "String" }
    status: { type: "PetStatus" }
  ) {
    pets(first: $count, after: $cursor, status: $status) @connection(key: "Store_pets") {
      edges {
        node {
          id
          name
          status
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`
