// Every npm package we build and test with must carry a licence from this list; crates: deny.toml.
//
//   node ci/licences.mjs
//
// Owns: what may be a tool, and the reading of SPDX expressions.
// Guards against: a dependency that arrives with an update and forbids its use.
import { read, report } from './source-files.mjs'

// Run while building or testing, or served as they are (fonts); never linked.
const tools = new Set([
  '0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'CC0-1.0', 'ISC', 'MIT', 'MIT-0', 'MPL-2.0', 'OFL-1.1',
  'Unlicense', 'Zlib',
])

/** Whether an SPDX expression can be satisfied; `/` is its old spelling of OR. */
export function allowed(expression, list) {
  const tokens = expression.replaceAll('/', ' OR ').match(/\(|\)|[^\s()]+/g) ?? []
  let at = 0
  const either = () => {
    let value = both()
    while (tokens[at] === 'OR') {
      at += 1
      value = both() || value
    }
    return value
  }
  const both = () => {
    let value = one()
    while (tokens[at] === 'AND') {
      at += 1
      value = one() && value
    }
    return value
  }
  const one = () => {
    const token = tokens[at++]
    if (token === '(') {
      const value = either()
      at += 1
      return value
    }
    if (tokens[at] === 'WITH') at += 2 // An exception only ever grants more.
    return list.has(token)
  }
  return either() && at === tokens.length
}

for (const [expression, expected] of [
  ['MIT OR GPL-3.0', true],
  ['MIT AND GPL-3.0', false],
  ['(MIT OR GPL-3.0) AND ISC', true],
  ['Apache-2.0 WITH LLVM-exception OR GPL-2.0', true],
  ['MIT/Apache-2.0', true],
  ['GPL-3.0', false],
  ['', false],
]) {
  if (allowed(expression, tools) !== expected) throw new Error(`the SPDX reading is wrong for '${expression}'`)
}

const faults = []
const lock = JSON.parse(read('end2end/package-lock.json')).packages
for (const [place, each] of Object.entries(lock)) {
  if (place && !allowed(each.license ?? '', tools)) faults.push(`npm ${place.replace('node_modules/', '')}: ${each.license ?? 'no licence named'}`)
}
const count = Object.keys(lock).length - 1
process.exit(report('licences', faults, `${count} packages carry an allowed one`) ? 0 : 1)
