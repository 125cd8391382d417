/** A failure that the person at the terminal can act on. The message says what is wrong, usually in one line. */
export class OperatorError extends Error {}
