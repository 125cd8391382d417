/** Unknown members in a valid body of createPet: ignored, without prototype pollution. */
export const unknownMembers: { title: string; members: string }[] = [
  { title: 'id', members: '"id":77' },
  { title: 'id null', members: '"id":null' },
  { title: '__proto__', members: '"__proto__":{"polluted":1}' },
  { title: 'constructor', members: '"constructor":{"prototype":{"polluted":1}}' },
  { title: 'prototype', members: '"prototype":{"polluted":1}' },
  { title: 'toString', members: '"toString":null,"valueOf":null,"toJSON":null,"then":null,"hasOwnProperty":null' },
  { title: 'capitalised names', members: '"Name":"y","STATUS":"gone"' },
  { title: 'an empty name', members: '"":1' },
  { title: 'snake case', members: '"category_id":2' },
  { title: 'a member twice', members: '"x":1,"x":2' },
  { title: '500 nested arrays', members: `"x":${'['.repeat(500)}${']'.repeat(500)}` },
]
