// House rules that no other tool knows.
//
//   node ci/rules.mjs
//
// Owns: file size, module headers, the direction of imports, the sinks that
// Leptos does not escape (T01), the variables of scripts, and that docs/ explain every
// rule that code cites. Each fault names file, line and rule.
import { lineOf, read, report, rustCode, sourceFiles, withoutStrings } from './source-files.mjs'

const sizeLimit = 500
const sizeAim = 300
const sized = /\.(rs|css|ts|sql|py|sh|mjs)$/

// What each crate may take from the workspace, and what it must never know.
const crates = {
  'app/domain': { ours: [], never: ['axum', 'leptos', 'sqlx', 'tokio', 'reqwest', 'rand'] },
  app: { ours: ['domain', 'engine'], never: ['axum', 'sqlx'] },
  'app/frontend': { ours: ['app'], never: ['axum', 'sqlx', 'tokio'] },
  'server/engine': { ours: ['domain'], never: ['axum', 'leptos', 'leptos_axum', 'tower-http'] },
  'server/cluster': { ours: [], never: ['axum', 'leptos'] },
  'server/sandbox': { ours: ['domain'], never: ['leptos'] },
  'server/bench': { ours: ['cluster', 'domain', 'engine', 'testkit'], never: ['axum', 'leptos'] },
}
const workspaceCrates = ['app', 'bench', 'cluster', 'domain', 'engine', 'frontend', 'sandbox', 'server', 'testkit']

// The engine's rooms: a module imports only from its own row or a row above.
const engineRows = [
  ['actor', 'backoff', 'caller', 'changes', 'clock', 'config', 'crash', 'database', 'definition', 'error', 'feed', 'hints', 'pooler', 'report', 'settings', 'smtp'],
  ['store'],
  ['identity', 'leases', 'outbox'],
  ['operations', 'provider'],
  ['workflows'],
  // A message may start an operation or a workflow in its own transaction (D29).
  ['compensation', 'inbox'],
  ['reconciliation'],
  ['actions', 'audit', 'console', 'webhook'],
  ['bulk'],
  ['background'],
]

const files = sourceFiles()
const rust = files.filter((file) => file.endsWith('.rs'))

function sizes() {
  const faults = []
  let long = 0
  for (const file of files.filter((each) => sized.test(each))) {
    const lines = read(file).split('\n').length - 1
    if (lines > sizeLimit) faults.push(`${file} has ${lines} lines; the limit is ${sizeLimit}`)
    else if (lines > sizeAim) {
      long += 1
      console.log(`file size: ${file} has ${lines} lines; the aim is ${sizeAim}`)
    }
  }
  return report('file size', faults, `no file beyond ${sizeLimit} lines, ${long} beyond ${sizeAim}`)
}

function headers() {
  const faults = rust
    .filter((file) => !read(file).startsWith('//!'))
    .map((file) => `${file} does not open with //! (what it owns, the failure it guards)`)
  return report('module header', faults, `${rust.length} modules say what they own`)
}

/** Names in [dependencies] and its kin of one manifest; dev-dependencies are free. */
function dependencies(manifest) {
  const names = []
  let section = ''
  for (const line of read(manifest).split('\n')) {
    section = line.match(/^\[(.*)\]/)?.[1] ?? section
    const name = line.match(/^([\w-]+)(?:\.workspace)?\s*=/)?.[1]
    if (name && /^(target\..*\.)?(build-)?dependencies$/.test(section)) names.push(name)
  }
  return names
}

function cratesKnow() {
  const faults = []
  for (const [dir, { ours, never }] of Object.entries(crates)) {
    for (const name of dependencies(`${dir}/Cargo.toml`)) {
      if (workspaceCrates.includes(name) && !ours.includes(name)) faults.push(`${dir} must not depend on ${name}`)
      if (never.includes(name)) faults.push(`${dir} must not know ${name}`)
    }
  }
  for (const file of rust.filter((each) => each.startsWith('app/src/') && !each.startsWith('app/src/api'))) {
    const code = rustCode(file)
    for (const match of code.matchAll(/\bengine::/g)) {
      faults.push(`${file}:${lineOf(code, match.index)} uses the engine outside app/src/api`)
    }
  }
  return report('imports', faults, 'every crate keeps to its arrows')
}

/** Modules of `crate::` that a file names, with the place of each. */
function crateModules(code) {
  const found = []
  for (const match of code.matchAll(/\bcrate::(\w+|\{)/g)) {
    if (match[1] !== '{') {
      found.push([match[1], match.index])
      continue
    }
    let depth = 1
    let name = ''
    for (let at = match.index + match[0].length; depth > 0 && at < code.length; at += 1) {
      const sign = code[at]
      if (sign === '{') depth += 1
      else if (sign === '}') depth -= 1
      if ((sign === ',' && depth === 1) || depth === 0) {
        const head = name.trim().match(/^\w+/)?.[0]
        if (head) found.push([head, match.index])
        name = ''
      } else name += sign
    }
  }
  return found
}

function engineOrder() {
  const rowOf = new Map(engineRows.flatMap((row, index) => row.map((name) => [name, index])))
  const faults = []
  for (const file of rust.filter((each) => each.startsWith('server/engine/src/'))) {
    const room = file.slice('server/engine/src/'.length).split('/')[0].replace(/\.rs$/, '')
    if (room === 'lib') continue
    const row = rowOf.get(room)
    if (row === undefined) {
      faults.push(`${file}: module '${room}' has no place in the order; give it one in ci/rules.mjs`)
      continue
    }
    const code = rustCode(file)
    for (const [name, index] of crateModules(code)) {
      if ((rowOf.get(name) ?? -1) > row) {
        faults.push(`${file}:${lineOf(code, index)} imports ${name}, which stands after ${room}`)
      }
    }
  }
  return report('engine order', faults, 'no module imports one that stands after it')
}

// T01: server rendering does not escape these children, nor a <Title>'s text.
function sinks() {
  const faults = []
  for (const file of rust.filter((each) => each.startsWith('app/'))) {
    const code = withoutStrings(rustCode(file))
    const fault = (index, what) => faults.push(`${file}:${lineOf(code, index)} ${what}`)
    for (const match of code.matchAll(/\binner_html\b/g)) fault(match.index, 'sets inner_html')
    for (const match of code.matchAll(/<(textarea|script|style|noscript)\b/g)) {
      const body = childrenOf(code, match.index, match[1])
      if (/[{(\w]/.test(body)) {
        fault(match.index, `puts an expression into <${match[1]}>, which is not escaped`)
      }
    }
    for (const match of code.matchAll(/<Title\b[^/]*?\btext\s*=\s*(?!")/g)) {
      fault(match.index, 'gives <Title> text that is no literal')
    }
    for (const match of code.matchAll(/<Title\b[^/]*?\bformatter\b/g)) fault(match.index, 'gives <Title> a formatter')
  }
  return report('unescaped sinks', faults, 'no data reaches them (T01)')
}

/** The text between a tag's end and its closing tag; empty for <tag/>. */
function childrenOf(code, start, tag) {
  let depth = 0
  for (let at = start; at < code.length; at += 1) {
    const sign = code[at]
    if ('{(['.includes(sign)) depth += 1
    else if ('})]'.includes(sign)) depth -= 1
    else if (sign === '>' && depth === 0 && !'=-'.includes(code[at - 1])) {
      if (code[at - 1] === '/') return ''
      const end = code.indexOf(`</${tag}>`, at)
      return end < 0 ? '' : code.slice(at + 1, end)
    }
  }
  return ''
}

// The program refuses to start under a variable that it does not know.
function variables() {
  const names = (text) => text.matchAll(/ONCEOVER_[A-Z0-9_]*[A-Z0-9]/g)
  const known = new Set([...names(read('server/src/config/source.rs'))].map(([name]) => name))
  const faults = []
  for (const file of files.filter((each) => /^(\.ci\/|ci\/|end2end\/|Makefile$)/.test(each))) {
    const text = read(file)
    for (const { 0: name, index } of names(text)) {
      if (!known.has(name)) faults.push(`${file}:${lineOf(text, index)} ${name} stands in no list of server/src/config/source.rs`)
    }
  }
  return report('variables', faults, 'the program knows every one that scripts and browser tests use')
}

// A number in a comment leads to the sentence that says what it means.
function citedRules() {
  const number = /\b[DOSWXNCAITRF]\d{1,2}\b/g
  const docs = files.filter((each) => /^(docs\/.*|SECURITY)\.md$/.test(each)).map(read)
  const explained = new Set(docs.flatMap((text) => text.match(number) ?? []))
  const faults = []
  for (const file of files.filter((each) => /\.(rs|sql)$/.test(each))) {
    read(file)
      .split('\n')
      .forEach((line, index) => {
        const comment = line.match(/(?:^|\s)(?:\/\/|--)(.*)$/)?.[1] ?? ''
        for (const cited of comment.match(number) ?? []) {
          if (!explained.has(cited)) faults.push(`${file}:${index + 1} cites ${cited}, which no page of docs/ explains`)
        }
      })
  }
  return report('cited rules', faults, `docs/ explain each of the ${explained.size} numbers that code may cite`)
}

const results = [sizes(), headers(), cratesKnow(), engineOrder(), sinks(), variables(), citedRules()]
process.exit(results.every(Boolean) ? 0 : 1)
