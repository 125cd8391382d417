// Puts the address of this page into the commands, and shows whether the service is ready.
for (const command of document.querySelectorAll('pre')) {
  command.textContent = command.textContent.replace('http://localhost:4000/', new URL('.', document.baseURI))
}

const state = document.getElementById('state')
try {
  const response = await fetch('readyz')
  const { message } = await response.json()
  state.textContent = response.ok ? 'ready' : `not ready: ${message}`
} catch {
  state.textContent = 'not known: there was no response from readyz.'
}
