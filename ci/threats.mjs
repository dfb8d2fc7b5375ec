// The table of all threats at the end of a test run.
//
//   node ci/threats.mjs [whole]
//
// Reads what tests reported (testkit::threat, end2end/tests/threats.ts) from target/threats, and the
// sources for every place that reports. A threat holds where each of its places has reported and none
// saw an effect. With `whole`, one that no place reports fails the run. What the check proves counts for the
// commit and the locks that it was run on; where the check said why it could not, that is told and is no
// failure. Guards against a threat whose test was lost, and against a table that is green because a test did
// not run.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { lineOf, read, sourceFiles } from './source-files.mjs'

const whole = process.argv[2] === 'whole'
const all = Array.from({ length: 47 }, (_, n) => `T${String(n + 1).padStart(2, '0')}`)
// Proven by the check, which no test repeats; it reports to a file of its own, with its mark.
const elsewhere = { T45: 'make check (ci/supply.sh)' }
const mark = spawnSync('bash', ['-c', '. ci/lib.sh && supply_mark'], { encoding: 'utf8' }).stdout?.trim()
const file = process.env.ONCEOVER_THREATS_FILE ?? 'target/threats'

const rows = new Map(all.map((id) => [id, { tried: 0, effects: 0, reported: new Set(), places: new Set() }]))
const unknown = []

for (const source of sourceFiles()) {
  if (!/\.(rs|ts)$/.test(source) || /threats\.(rs|ts)$/.test(source)) continue
  const text = read(source)
  for (const match of text.matchAll(/\bthreat\(\s*["'](T\d\d)["']/g)) {
    const row = rows.get(match[1])
    // A browser test reports its file alone: what runs there is no longer at the line it was written on.
    const place = source.endsWith('.rs') ? `${source}:${lineOf(text, match.index)}` : source
    if (row) row.places.add(place)
    else unknown.push(`${match[1]} at ${place}`)
  }
}

const linesOf = (name) => (fs.existsSync(name) ? fs.readFileSync(name, 'utf8').split('\n').filter(Boolean) : [])
const skipped = new Map()
const checked = linesOf('target/threats.check').filter((line) => line.split(' ')[4] === mark)
for (const line of [...linesOf(file), ...checked]) {
  const [id, tried, effects, place, , ...why] = line.split(' ')
  const row = rows.get(id)
  if (!row) {
    unknown.push(line)
    continue
  }
  if (why.length) {
    skipped.set(id, why.join(' '))
    continue
  }
  row.tried += Number(tried)
  row.effects += Number(effects)
  row.reported.add(place)
}

const wrong = []
console.log('\nthreat  holds    tried  effects')
for (const [id, row] of rows) {
  const silent = [...row.places].filter((place) => !row.reported.has(place))
  let verdict = 'yes'
  if (row.effects > 0) verdict = 'NO'
  else if (row.places.size === 0 && row.reported.size > 0) verdict = 'yes'
  else if (skipped.has(id)) verdict = 'skipped'
  else if (row.places.size === 0) verdict = elsewhere[id] ? 'not run' : 'MISSING'
  else if (row.reported.size === 0) verdict = 'not run'
  else if (silent.length > 0) verdict = 'in part'
  let note = silent.length ? `silent: ${silent.join(', ')}` : ''
  if (verdict === 'skipped') note = skipped.get(id)
  else if (verdict === 'not run' && elsewhere[id]) note = `by ${elsewhere[id]}, on this commit with these locks`
  console.log(`${id}     ${verdict.padEnd(7)}${String(row.tried).padStart(7)}${String(row.effects).padStart(9)}  ${note}`.trimEnd())
  if (verdict === 'NO' || (whole && !['yes', 'skipped'].includes(verdict))) wrong.push(id)
}
for (const [id, why] of skipped) console.log(`not shown here: ${id}, ${why}`)
for (const each of unknown) console.error(`no such threat: ${each}`)
if (wrong.length) console.error(`threats that do not hold: ${wrong.join(', ')}`)
process.exit(wrong.length || unknown.length ? 1 : 0)
