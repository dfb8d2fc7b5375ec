// Runs the compiled test programs of one stage and adds up what they report.
//
//   node ci/run-tests.mjs <main|faults|plans> < messages of `cargo test --no-run`
//
// Owns: which test belongs to which stage. Integration tests whose module (or
// program) is named for a stage run there; everything else is in `main`, so that a
// new test cannot be forgotten. One build serves all stages: asking cargo for one
// package at a time would recompile half the tree with other features. Also: saying by
// name, at the very end, which test failed, never ended, or could not run on this machine (a line of
// its own with NOT RUN in it); a log is read from its end.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const special = { faults: ['faults', 'crash'], plans: ['plans', 'plans_machines', 'plans_console'] }
const limitMinutes = 15
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

/** The names of the tests that `args` chooses in a program. */
function namesOf(program, args) {
  const listed = spawnSync(program.executable, [...args, '--list'], { encoding: 'utf8' }).stdout ?? ''
  return listed.split('\n').flatMap((line) => line.match(/^(.+): test$/)?.[1] ?? [])
}

/** What the server of the tests was asked and has not answered; best effort. */
function openStatements() {
  const sql = `select left(datname, 28) || ' ' || state || ' ' || coalesce(wait_event, '-') || ' ' || left(regexp_replace(query, '\\s+', ' ', 'g'), 80)
    from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend' order by state_change limit 6`
  const told = spawnSync('psql', [process.env.DATABASE_URL ?? '', '-Atc', sql], { encoding: 'utf8', timeout: 10_000 })
  return (told.stdout ?? '').trim().split('\n').join(' | ')
}

/** What every thread of a process waits in, as far as the system tells. */
function threads(pid) {
  const task = `/proc/${pid}/task`
  if (!fs.existsSync(task)) return ''
  const read = (id, name) => {
    try {
      return fs.readFileSync(`${task}/${id}/${name}`, 'utf8').trim()
    } catch {
      return '?'
    }
  }
  return fs.readdirSync(task).map((id) => `${read(id, 'comm')} in ${read(id, 'wchan')}`).join(', ')
}

/** Runs one program as cargo would, in its package's folder; resolves to its counts. */
function run(program, args) {
  const folder = path.dirname(program.manifest_path)
  const child = spawn(program.executable, args, {
    cwd: folder,
    env: { ...process.env, CARGO_MANIFEST_DIR: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const counts = { passed: 0, failed: 0, ignored: 0, reported: false, overdue: '', red: [] }
  const ended = new Set()
  const deadline = setTimeout(() => {
    const open = namesOf(program, args).filter((name) => !ended.has(name))
    counts.overdue = `${open.length} not ended, the first of them ${open.slice(0, 4).join(', ')}; threads: ${threads(child.pid)}; database: ${openStatements()}`
    child.kill('SIGKILL')
  }, limitMinutes * 60_000)
  let rest = ''
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (text) => {
    process.stdout.write(text)
    const lines = (rest + text).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      const name = line.match(/^test (.+) \.\.\. (ok|FAILED|ignored)/)?.[1]
      if (name) ended.add(name)
      if (line.includes('NOT RUN')) notRun.push(line.trim())
      // libtest repeats each failed test's output under such a heading.
      const heading = line.match(/^---- (.+) stdout ----$/)?.[1]
      if (heading) counts.red.push({ name: heading, said: [] })
      else if (counts.red.at(-1)?.said.length < 4 && line.trim()) counts.red.at(-1).said.push(line)
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

const notRun = []
const total = { passed: 0, failed: 0, ignored: 0 }
const broken = []
for (const program of programs) {
  const args = argumentsFor(program)
  if (args === null) continue
  const name = `${path.basename(path.dirname(program.manifest_path))} ${program.target.name}`
  console.log(`\n— ${name} ${args.join(' ')}`)
  const result = await run(program, args)
  for (const key of Object.keys(total)) total[key] += result[key]
  if (result.overdue) broken.push(`${name} ran beyond ${limitMinutes} minutes: ${result.overdue}`)
  else if (!result.reported) broken.push(`${name} ended (${result.code}) without a result`)
  else if (result.code !== 0) broken.push(name)
  broken.push(...result.red.map((test) => `${name}: ${test.name}: ${test.said.join(' ')}`))
}
// A stage without tests must not look like one that passed.
if (total.passed + total.failed === 0) broken.push(`no test belongs to stage '${stage}'`)
console.log(`\n${stage}: ${total.passed} passed, ${total.failed} failed, ${total.ignored} ignored`)
for (const each of broken) console.error(`failed: ${each}`)
// For the summary of all stages, which is what a reader of a long log sees first.
const stagesFile = process.env.ONCEOVER_STAGES_FILE
const tell = (what, lines) => {
  if (lines.length && stagesFile) fs.appendFileSync(`${stagesFile}.${what}`, lines.map((each) => `${stage}: ${each}\n`).join(''))
}
tell('failed', broken)
tell('notrun', notRun)
process.exit(broken.length ? 1 : 0)
