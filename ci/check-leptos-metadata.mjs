// Holds our release build together with [[workspace.metadata.leptos]], which
// `cargo leptos` reads for `make dev`.
//
//   node ci/check-leptos-metadata.mjs [--compare]
//
// Always: the table's keys are real, the packages it names exist, the environment
// in .cargo/config.toml says the same. Where a release stands: names, hash.txt and
// compressed copies are as the table promises, and a first visit loads no more than it
// may. With --compare and cargo-leptos in PATH: cargo-leptos builds the same release
// elsewhere and the two are compared.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import zlib from 'node:zlib'
import { hashedKinds, leptosMetadata, parseHashes, root } from './leptos-metadata.mjs'

// Every key of cargo-leptos 0.3.11 that we could use; it only warns of others.
const knownKeys = new Set([
  'name', 'bin-package', 'lib-package', 'output-name', 'site-addr', 'site-root', 'site-pkg-dir', 'style-file',
  'style-bundle', 'hash-file-name', 'hash-files', 'assets-dir', 'js-dir', 'js-minify', 'watch-additional-files',
  'reload-port', 'end2end-cmd', 'end2end-dir', 'browserquery', 'bin-target', 'bin-exe-name', 'bin-cargo-args',
  'features', 'lib-features', 'lib-default-features', 'lib-cargo-args', 'bin-features', 'bin-default-features',
  'server-fn-prefix', 'disable-server-fn-hash', 'server-fn-mod-path', 'lib-profile-dev', 'lib-profile-release',
  'bin-profile-dev', 'bin-profile-release', 'wasm-opt-features',
])

// What a first visit loads, WASM and script together in brotli (P6; KB as everywhere a thousand bytes).
const firstVisit = 350_000

const m = leptosMetadata()
const faults = []
const must = (holds, fault) => holds || faults.push(fault)

function checkTable() {
  for (const key of Object.keys(m.table)) must(knownKeys.has(key), `cargo-leptos knows no key '${key}'`)
  const find = (name) => m.packages.find((each) => each.name === name)
  const targets = (name, kind) => find(name)?.targets.filter((each) => each.kind.includes(kind)) ?? []
  must(targets(m.binPackage, 'bin').some((each) => each.name === m.binTarget), `package ${m.binPackage} has no binary ${m.binTarget}`)
  must(path.basename(m.server) === m.binTarget, 'bin-exe-name must be the bin-target: cargo-leptos looks for the file by it')
  must(targets(m.libPackage, 'cdylib').length === 1, `package ${m.libPackage} has no cdylib`)
  const manifest = fs.readFileSync(path.join(root, 'Cargo.toml'), 'utf8')
  must(manifest.includes(`[profile.${m.wasmProfile}]`), `Cargo.toml has no [profile.${m.wasmProfile}]`)
  must(m.table['hash-files'] === true, 'hash-files must be on: the site is served as unchanging')
  must(m.table['style-bundle'] === true, 'style-bundle must be on: main.css imports one file per component')
}

/** What leptos reads at compile time, in the build without cargo-leptos. */
function checkEnvironment() {
  const config = fs.readFileSync(path.join(root, '.cargo', 'config.toml'), 'utf8')
  const value = (name) => config.match(new RegExp(`^${name} = "(.*)"$`, 'm'))?.[1]
  const expected = {
    LEPTOS_OUTPUT_NAME: m.outputName,
    SERVER_FN_PREFIX: m.table['server-fn-prefix'],
    DISABLE_SERVER_FN_HASH: m.table['disable-server-fn-hash'] ? 'true' : undefined,
    SERVER_FN_MOD_PATH: m.table['server-fn-mod-path'] ? 'true' : undefined,
  }
  for (const [name, wanted] of Object.entries(expected)) {
    must(value(name) === wanted, `.cargo/config.toml has ${name}=${value(name)}, the metadata says ${wanted}`)
  }
}

function filesUnder(dir) {
  return fs.readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(dir, path.join(entry.parentPath ?? entry.path, entry.name)))
    .sort()
}

function checkSite() {
  const hashes = parseHashes(fs.readFileSync(m.hashFile, 'utf8'))
  must(Object.keys(hashes).join() === hashedKinds.join(), `hash.txt must name ${hashedKinds.join(', ')}`)
  const pkg = path.join(m.siteRoot, m.pkg)
  for (const kind of hashedKinds) {
    const name = `${m.outputName}.${hashes[kind]}.${kind}`
    const file = path.join(pkg, name)
    if (!fs.existsSync(file)) {
      faults.push(`${m.pkg}/${name} is missing although hash.txt names it`)
      continue
    }
    const content = fs.readFileSync(file)
    must(createHash('md5').update(content).digest('base64url') === hashes[kind], `${name} is not what its hash says`)
    for (const [ending, open] of [['.br', zlib.brotliDecompressSync], ['.gz', zlib.gunzipSync]]) {
      const copy = `${file}${ending}`
      must(fs.existsSync(copy) && open(fs.readFileSync(copy)).equals(content), `${name}${ending} is missing or differs`)
    }
    const others = fs.readdirSync(pkg).filter((each) => each.endsWith(`.${kind}`) && each !== name)
    must(others.length === 0, `${m.pkg}/ holds ${others.join(', ')} beside ${name}`)
  }
  const copies = filesUnder(pkg).filter((name) => /\.(js|wasm)\.br$/.test(name))
  const loaded = copies.reduce((sum, name) => sum + fs.statSync(path.join(pkg, name)).size, 0)
  must(loaded <= firstVisit, `a first visit loads ${loaded} bytes of WASM and script in brotli; the bound is ${firstVisit}`)
  console.log(`first visit: ${loaded} bytes of WASM and script in brotli, of ${firstVisit} at most`)
}

/** Names with their hashes masked, so that two builds with other contents compare. */
const masked = (names) => names.map((name) => name.replace(/\.[\w-]{22}\./, '.<hash>.')).sort()

function compare() {
  const other = path.join(m.targetDir, 'leptos-site')
  const ours = { names: masked(filesUnder(m.siteRoot)), hashes: fs.readFileSync(m.hashFile) }
  // The wasm tools that our own build uses: cargo-leptos fetches none.
  const tools = [path.join(root, '.tools', 'bin'), path.join(root, 'end2end', 'node_modules', '.bin')]
  try {
    execFileSync('cargo', ['leptos', 'build', '--release', '--precompress'], {
      cwd: root,
      stdio: 'inherit',
      env: {
        ...process.env,
        PATH: [...tools, process.env.PATH].join(path.delimiter),
        LEPTOS_SITE_ROOT: path.relative(root, other),
      },
    })
    const theirs = parseHashes(fs.readFileSync(m.hashFile, 'utf8'))
    must(Object.keys(theirs).join() === hashedKinds.join(), `cargo-leptos' hash.txt names ${Object.keys(theirs)}`)
    // cargo-leptos compresses every file, we only what gains by it: originals count. It keeps
    // wasm-bindgen's TypeScript declarations, which no browser asks for; we do not make them.
    const originals = (names) => names.filter((name) => !/\.(br|gz)$|\.d\.<hash>\.ts$/.test(name)).join('\n')
    const names = masked(filesUnder(other))
    must(originals(names) === originals(ours.names), `cargo-leptos makes other files:\n${originals(names)}\nwe make:\n${originals(ours.names)}`)
    for (const name of ours.names) must(names.includes(name), `cargo-leptos does not make ${name}`)
  } finally {
    fs.writeFileSync(m.hashFile, ours.hashes)
    fs.rmSync(other, { recursive: true, force: true })
  }
}

checkTable()
checkEnvironment()
const built = fs.existsSync(m.hashFile) && fs.existsSync(m.siteRoot)
if (built) checkSite()
if (process.argv.includes('--compare')) {
  const present = process.env.PATH.split(path.delimiter).some((dir) => fs.existsSync(path.join(dir, 'cargo-leptos')))
  if (!built) faults.push('there is no release to compare; run ci/build-release.sh first')
  else if (present) compare()
  else console.log('cargo-leptos is not in PATH: the comparison with its build is skipped')
}
for (const fault of faults) console.error(`leptos metadata: ${fault}`)
if (faults.length) process.exit(1)
console.log(`leptos metadata: ${built ? 'table, environment and release agree' : 'table and environment agree (no release is built)'}`)
