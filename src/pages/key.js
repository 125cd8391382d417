// Runs before GraphiQL and before the API reference: keeps the API key of the header's field in localStorage, so that a
// key entered on one page works on the other, too. The field gets the event `stored` when its key has changed.
//
// `npm start` prints links that end in `#key=<API key>`. Browsers never send the fragment of a URL to the server
// (RFC 9110 §7.1), so only this script reads the key in it. All other fragments are ignored.
{
  // "Clear data" in GraphiQL's settings removes all items whose names begin with graphiql:, and so the key.
  const KEY = 'graphiql:pet-store:key'
  const field = document.getElementById('key')
  field.value = localStorage.getItem(KEY) ?? ''
  field.addEventListener('change', () => setKey(field.value.trim()))

  function setKey(key) {
    field.value = key
    if (key) localStorage.setItem(KEY, key)
    else localStorage.removeItem(KEY)
    field.dispatchEvent(new Event('stored'))
  }

  function takeKeyFromFragment() {
    const key = /^#key=(pets_\w+)$/.exec(location.hash)?.[1]
    if (!key) return
    history.replaceState(history.state, '', location.pathname + location.search) // removes the key from the address bar
    setKey(key)
  }
  takeKeyFromFragment()
  addEventListener('hashchange', takeKeyFromFragment) // the link was opened in a tab that already shows the page

  // GraphiQL does not report that "Clear data" was clicked. This listener of all clicks runs after GraphiQL's own.
  addEventListener('click', () => {
    if (document.activeElement !== field) field.value = localStorage.getItem(KEY) ?? ''
  })
}
