// Runs the compiled test programs of one stage and adds up what they report.
//
//   node ci/run-tests.mjs <main|faults|plans> < messages of `cargo test --no-run`
//
// Owns: which test belongs to which stage. Integration tests whose module (or
// program) is named for a stage run there; everything else is in `main`, so that a
// new test cannot be forgotten. One build serves all stages: asking cargo for one
// package at a time would recompile half the tree with other features.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const special = { faults: ['faults', 'crash'], plans: ['plans'] }
const limitMinutes = 20
const stage = process.argv[2]
if (stage !== 'main' && !special[stage]) throw new Error('usage: node ci/run-tests.mjs <main|faults|plans>')

const programs = fs
  .readFileSync(0, 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('{'))
  .map((line) => JSON.parse(line))
  .filter((message) => message.reason === 'compiler-artifact' && message.profile.test && message.executable)

/** libtest's arguments for this program in this stage; null where it has no part in it. */
function argumentsFor(program) {
  const integration = program.target.kind.includes('test')
  const named = Object.keys(special).find((each) => special[each].includes(program.target.name))
  if (!integration) return stage === 'main' ? [] : null
  if (named) return named === stage ? [] : null
  if (stage !== 'main') return special[stage].map((module) => `${module}::`)
  return Object.values(special).flat().flatMap((module) => ['--skip', `${module}::`])
}

/** Runs one program as cargo would, in its package's folder; resolves to its counts. */
function run(program, args) {
  const folder = path.dirname(program.manifest_path)
  const child = spawn(program.executable, args, {
    cwd: folder,
    env: { ...process.env, CARGO_MANIFEST_DIR: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const counts = { passed: 0, failed: 0, ignored: 0, reported: false, overdue: false }
  const deadline = setTimeout(() => {
    counts.overdue = true
    child.kill('SIGKILL')
  }, limitMinutes * 60_000)
  let rest = ''
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (text) => {
    process.stdout.write(text)
    const lines = (rest + text).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      const found = line.match(/^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/)
      if (!found) continue
      counts.reported = true
      counts.passed += Number(found[1])
      counts.failed += Number(found[2])
      counts.ignored += Number(found[3])
    }
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(deadline)
      resolve({ ...counts, code })
    })
  })
}

const total = { passed: 0, failed: 0, ignored: 0 }
const broken = []
for (const program of programs) {
  const args = argumentsFor(program)
  if (args === null) continue
  const name = `${path.basename(path.dirname(program.manifest_path))} ${program.target.name}`
  console.log(`\n— ${name} ${args.join(' ')}`)
  const result = await run(program, args)
  for (const key of Object.keys(total)) total[key] += result[key]
  if (result.overdue) broken.push(`${name} ran beyond ${limitMinutes} minutes`)
  else if (!result.reported) broken.push(`${name} ended (${result.code}) without a result`)
  else if (result.code !== 0) broken.push(name)
}
// A stage without tests must not look like one that passed.
if (total.passed + total.failed === 0) broken.push(`no test belongs to stage '${stage}'`)
console.log(`\n${stage}: ${total.passed} passed, ${total.failed} failed, ${total.ignored} ignored`)
for (const each of broken) console.error(`failed: ${each}`)
process.exit(broken.length ? 1 : 0)
