// Runs before GraphiQL: keeps the API key in localStorage and sends it with every request to this origin.
//
// `npm start` prints a link that ends in `#key=<API key>`. Browsers never send the fragment of a URL to the server
// (RFC 9110 §7.1), so only this script reads the key in it. All other fragments are ignored.
{
  // "Clear data" in GraphiQL's settings removes everything named graphiql:, so the key, too.
  const KEY = 'graphiql:pet-store:key'
  const field = document.getElementById('key')
  field.value = localStorage.getItem(KEY) ?? ''
  field.addEventListener('change', () => setKey(field.value.trim()))

  function setKey(key) {
    field.value = key
    if (key) localStorage.setItem(KEY, key)
    else localStorage.removeItem(KEY)
    document.querySelector('[aria-label^="Re-fetch"]')?.click()
  }

  function takeKeyFromFragment() {
    const key = /^#key=(pets_\w+)$/.exec(location.hash)?.[1]
    if (!key) return
    history.replaceState(history.state, '', location.pathname + location.search) // removes the key from the address bar
    setKey(key)
  }
  takeKeyFromFragment()
  addEventListener('hashchange', takeKeyFromFragment) // the link was opened in a tab that already shows the page

  const { fetch } = window
  window.fetch = async (...call) => {
    const request = new Request(...call)
    const sameOrigin = new URL(request.url).origin === location.origin
    if (sameOrigin && field.value && !request.headers.has('Authorization')) {
      request.headers.set('Authorization', 'Bearer ' + field.value.trim())
    }
    return fetch(request)
  }

  // Runs after GraphiQL's own listener of the button "Clear data", which reports nothing.
  addEventListener('click', () => {
    if (document.activeElement !== field) field.value = localStorage.getItem(KEY) ?? ''
  })

  // Another service may have stored its tabs at this address. Without a stored query, GraphiQL opens an empty tab on
  // every reload. "Clear data" in its settings clears everything named graphiql: and so restores the examples.
  if (!localStorage.getItem('graphiql:pet-store:begun')) {
    for (const name of ['tabState', 'variables', 'headers']) localStorage.removeItem('graphiql:' + name)
    localStorage.setItem('graphiql:query', FIRST_EXAMPLE)
    localStorage.setItem('graphiql:pet-store:begun', 'yes')
  }
}
