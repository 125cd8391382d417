/** The project's folder, which has package.json, prisma/ and dist/: src/ and what the build makes of it are directly below. */
export const PROJECT = new URL('..', import.meta.url)
