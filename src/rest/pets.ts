import type { Router } from 'express'
import { requireScope } from '../auth/authenticate.ts'
import { jsonBody } from '../http/body.ts'
import { allowMethods, createRouter } from '../http/router.ts'
import { createPet } from './operations/create-pet.ts'
import { getPet, type GetPetDependencies } from './operations/get-pet.ts'
import { listPets } from './operations/list-pets.ts'
import { type PublicUrls, referenceBases } from './references.ts'

interface PetsRouterDependencies extends GetPetDependencies {
  config: PublicUrls
}

/** The REST API (specification §4), below `/v1`: translates between HTTP and the service. */
export function petsRouter({ config, ...deps }: PetsRouterDependencies): Router {
  const base = referenceBases(config)['/pets']
  const router = createRouter()
  router
    .route('/pets')
    .get(listPets(deps.animals, base))
    .post(requireScope('pets:write'), jsonBody, createPet(deps.animals, base))
    .all(allowMethods('GET', 'HEAD', 'POST'))
  router.route('/pets/:petId').get(getPet(deps)).all(allowMethods('GET', 'HEAD'))
  return router
}
