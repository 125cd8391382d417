import { type FieldNode, type GraphQLResolveInfo, Kind, type SelectionNode } from 'graphql'
import { Animal } from '../animals/animal.ts'

/**
 * What a document selects of an animal, so that nothing else is read.
 * @param path names of the fields that lead from the field under resolution to the animal
 * @returns members of Animal; a member under `@skip` counts, since reading it does no harm
 */
export function selectedOfAnimal(info: GraphQLResolveInfo, ...path: string[]): (keyof Animal)[] {
  const fields = path.reduce(
    (parents, name) => childrenOf(parents, info).filter((field) => field.name.value === name),
    info.fieldNodes as FieldNode[],
  )
  const names = new Set(childrenOf(fields, info).map((field) => field.name.value))
  return Object.keys(Animal.shape).filter((name): name is keyof Animal => names.has(name))
}

/** The fields below some fields, through their fragments. */
function childrenOf(fields: readonly FieldNode[], info: GraphQLResolveInfo): FieldNode[] {
  const flatten = (selection: SelectionNode): FieldNode[] => {
    if (selection.kind === Kind.FIELD) return [selection]
    const { selectionSet } =
      selection.kind === Kind.INLINE_FRAGMENT ? selection : (info.fragments[selection.name.value] ?? {})
    return selectionSet?.selections.flatMap(flatten) ?? []
  }
  return fields.flatMap((field) => field.selectionSet?.selections.flatMap(flatten) ?? [])
}
