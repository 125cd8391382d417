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
 * Above GraphiQL, in its colours, instead of its logo; the key can be read only while it is being edited. On a phone,
 * results come below the query instead of beside it.
 */
export const bar = (devKey: string) => `
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
  <input id="key" value="${devKey}" placeholder="Paste your key" autocomplete="off" spellcheck="false">
</header>
`

/**
 * Runs before GraphiQL. Stored is only a key that somebody typed: the development key comes anew with every page, so
 * that an older one never stays behind.
 */
export const script = `{
  const key = document.getElementById('key')
  key.value = localStorage.getItem('pet-store:key') ?? key.defaultValue
  key.addEventListener('change', () => {
    key.value = key.value.trim() || key.defaultValue
    if (key.value === key.defaultValue) localStorage.removeItem('pet-store:key')
    else localStorage.setItem('pet-store:key', key.value)
    document.querySelector('[aria-label^="Re-fetch"]')?.click()
  })

  const { fetch } = window
  window.fetch = async (...call) => {
    const request = new Request(...call)
    const ours = new URL(request.url).origin === location.origin
    if (ours && key.value && !request.headers.has('Authorization')) {
      request.headers.set('Authorization', 'Bearer ' + key.value.trim())
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
