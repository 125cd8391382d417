/** What the tabs hold at first: every field of Query and Mutation, with what cannot be seen from the schema. */
export const examples: { query: string; variables?: string }[] = [
  {
    query: `# A page of animals, newest first.
# The pink button runs it. Between the braces,
# Ctrl-Space lists what else you can ask for.
query Animals {
  pets(first: 5) {
    nodes {
      id
      name
      status
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
`,
  },
  {
    query: `# Animals with one status, page by page. Copy the
# endCursor of the result into "after" (Variables,
# below) and run it again: that is the next page.
query NextPage($status: PetStatus, $after: String) {
  pets(first: 3, status: $status, after: $after) {
    nodes {
      id
      name
      status
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
`,
    variables: json({ status: 'available', after: null }),
  },
  {
    query: `# An animal by its id. When there is none, you get
# null, and an error with the code NOT_FOUND.
query OneAnimal($id: ID!) {
  pet(id: $id) {
    id
    name
    categoryId
    status
  }
}
`,
    variables: json({ id: '1' }),
  },
  {
    query: `# Run it twice: it adds one animal, because of the
# idempotencyKey. For another, change the key too.
mutation AddAnimal($input: NewPet!, $key: String) {
  createPet(input: $input, idempotencyKey: $key) {
    id
    name
    categoryId
    status
  }
}
`,
    variables: json({ input: { name: 'Rex', categoryId: '1', status: 'available' }, key: 'rex-1' }),
  },
  {
    query: `# How many animals there are, in all and for sale;
# "all" and "forSale" are names that you choose.
# Counting is slow on large stores.
query Count {
  all: pets(first: 1) {
    totalCount
  }
  forSale: pets(first: 1, status: available) {
    totalCount
  }
}
`,
  },
]

function json(variables: object): string {
  return JSON.stringify(variables, null, 2)
}

/**
 * The bar above GraphiQL, in GraphiQL's colours and instead of its logo. The key is readable only while it is being
 * edited. On a phone, results are below the query instead of beside it.
 */
export const headerBarHtml = `
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
  #bar { align-items: center; box-sizing: border-box; display: flex; gap: 8px; height: 48px; padding: 8px 16px 0 }
  #bar { background: light-dark(#fff, hsl(219 29% 18%)); color: light-dark(hsl(219 28% 32%), hsl(219 29% 78%)) }
  #bar { color-scheme: light dark; font: 15px Roboto, sans-serif; white-space: nowrap }
  .graphiql-light #bar { color-scheme: light }
  .graphiql-dark #bar { color-scheme: dark }
  #bar strong { flex: 1 }
  #key { background: none; border: 1px solid; border-radius: 4px; color: inherit; padding: 6px }
  #key { font: 13px 'Fira Code', monospace; min-width: 0; width: 420px }
  #key:not(:focus, :placeholder-shown) { -webkit-text-security: disc }
  #root .graphiql-container { height: calc(100vh - 48px) }
  #root .graphiql-logo { display: none }
  @media (max-width: 700px) {
    #root #graphiql-session { flex-direction: column }
    #root .graphiql-horizontal-drag-bar { display: none }
  }
</style>
<header id="bar">
  <strong>Pet store GraphiQL</strong>
  <label for="key">API key</label>
  <input id="key" placeholder="Paste your key" autocomplete="off" spellcheck="false">
</header>
`

/**
 * Runs before GraphiQL. Keeps the API key in localStorage and sends it with every request to this origin.
 *
 * `npm start` prints a link that ends in `#key=<API key>`. Browsers never send the fragment of a URL to the server
 * (RFC 9110 §7.1), so the key in it reaches this script and nobody else. Everything else in a fragment is ignored.
 */
export const bootstrapScript = `{
  const field = document.getElementById('key')
  field.value = localStorage.getItem('pet-store:key') ?? ''
  field.addEventListener('change', () => setKey(field.value.trim()))

  function setKey(key) {
    field.value = key
    if (key) localStorage.setItem('pet-store:key', key)
    else localStorage.removeItem('pet-store:key')
    document.querySelector('[aria-label^="Re-fetch"]')?.click()
  }

  function takeKeyFromFragment() {
    const key = /^#key=(pets_\\w+)$/.exec(location.hash)?.[1]
    if (!key) return
    history.replaceState(history.state, '', location.pathname + location.search) // takes the key out of the address bar
    setKey(key)
  }
  takeKeyFromFragment()
  addEventListener('hashchange', takeKeyFromFragment) // the link was opened in a tab that has the page already

  const { fetch } = window
  window.fetch = async (...call) => {
    const request = new Request(...call)
    const ours = new URL(request.url).origin === location.origin
    if (ours && field.value && !request.headers.has('Authorization')) {
      request.headers.set('Authorization', 'Bearer ' + field.value.trim())
    }
    return fetch(request)
  }

  // Another service may have left its tabs at this address. Without a stored query, GraphiQL opens an empty tab on
  // every reload. "Clear data" in its settings clears what is named graphiql: too, and so brings the examples back.
  if (!localStorage.getItem('graphiql:pet-store:begun')) {
    for (const name of ['tabState', 'variables', 'headers']) localStorage.removeItem('graphiql:' + name)
    localStorage.setItem('graphiql:query', ${JSON.stringify(examples[0]?.query)})
    localStorage.setItem('graphiql:pet-store:begun', 'yes')
  }
}
`
