// Runs before GraphiQL: sends the API key with every request to this origin.
{
  const field = document.getElementById('key')
  field.addEventListener('stored', () => document.querySelector('[aria-label^="Re-fetch"]')?.click())

  const { fetch } = window
  window.fetch = async (...call) => {
    const request = new Request(...call)
    const sameOrigin = new URL(request.url).origin === location.origin
    if (sameOrigin && field.value && !request.headers.has('Authorization')) {
      request.headers.set('Authorization', 'Bearer ' + field.value.trim())
    }
    return fetch(request)
  }

  // Another service may have stored its tabs at this address. Without a stored query, GraphiQL opens an empty tab on
  // every reload. "Clear data" in its settings clears all items that begin with graphiql:, so the examples come back.
  if (!localStorage.getItem('graphiql:pet-store:begun')) {
    for (const name of ['tabState', 'variables', 'headers']) localStorage.removeItem('graphiql:' + name)
    localStorage.setItem('graphiql:query', FIRST_EXAMPLE)
    localStorage.setItem('graphiql:pet-store:begun', 'yes')
  }
}
