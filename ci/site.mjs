// Puts the built site together: styles, scripts, assets, hashed names, compressed copies.
//
//   node ci/site.mjs <folder with wasm-bindgen's output, already optimised>
//
// Owns: what lies under the site root and hash.txt. It does for a release what
// cargo-leptos does, with the same tools, so that a bare machine need not compile it.
// Guards against: a name that stays the same while its content changes (the server
// lets browsers keep these files for ever), and a half-written site: the new one is
// built beside the old one and takes its place in one rename.
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import zlib from 'node:zlib'
import { hashedKinds, leptosMetadata, parseHashes, root } from './leptos-metadata.mjs'

const require = createRequire(path.join(root, 'end2end', 'package.json'))
const lightningcss = require('lightningcss')
const esbuild = require('esbuild')

const bindgenDir = process.argv[2]
if (!bindgenDir) throw new Error('usage: node ci/site.mjs <wasm-bindgen output>')
const m = leptosMetadata()
const compressible = new Set(['.js', '.wasm', '.css', '.svg', '.txt', '.json', '.webmanifest'])

/** MD5 in unpadded URL-safe base64, as cargo-leptos names files; a name, not a seal. */
const hashOf = (content) => createHash('md5').update(content).digest('base64url')

function* filesUnder(dir) {
  if (!fs.existsSync(dir)) return
  for (const entry of fs.readdirSync(dir, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const full = path.join(dir, entry.name)
    if (entry.isDirectory()) yield* filesUnder(full)
    else yield full
  }
}

/** "chrome >= 123, safari >= 17.5" as lightningcss counts versions. */
function targets(query) {
  const found = {}
  for (const part of query.split(',')) {
    const match = part.trim().match(/^(\w+) >= (\d+)(?:\.(\d+))?$/)
    if (!match) throw new Error(`browserquery: '${part.trim()}' is not of the form 'name >= version'`)
    found[match[1]] = (Number(match[2]) << 16) | (Number(match[3] ?? 0) << 8)
  }
  return found
}

function styles() {
  const { code, warnings } = lightningcss.bundle({
    filename: m.styleFile,
    minify: true,
    targets: targets(m.browsers),
  })
  for (const warning of warnings) console.warn(`style: ${warning.message} (${warning.loc?.filename}:${warning.loc?.line})`)
  if (warnings.length) throw new Error('the style sheets have warnings')
  return Buffer.from(code)
}

/** What goes in, in one hash: unchanged means the site stands as it is. */
function inputKey() {
  const key = createHash('sha256')
  const self = path.join(root, 'ci')
  for (const file of [
    ...filesUnder(path.dirname(m.styleFile)),
    ...filesUnder(m.assetsDir),
    ...filesUnder(bindgenDir),
    path.join(self, 'site.mjs'),
    path.join(self, 'leptos-metadata.mjs'),
    path.join(root, 'end2end', 'package-lock.json'),
  ]) {
    key.update(file).update('\0').update(fs.readFileSync(file)).update('\0')
  }
  return key.update(JSON.stringify(m.table)).digest('hex')
}

function build(site) {
  fs.rmSync(site, { recursive: true, force: true })
  const pkg = path.join(site, m.pkg)
  fs.cpSync(m.assetsDir, site, { recursive: true })
  fs.mkdirSync(pkg, { recursive: true })
  const snippets = path.join(bindgenDir, 'snippets')
  if (fs.existsSync(snippets)) fs.cpSync(snippets, path.join(pkg, 'snippets'), { recursive: true })

  const wasm = fs.readFileSync(path.join(bindgenDir, `${m.outputName}_bg.wasm`))
  const wasmHash = hashOf(wasm)
  // The script names the module: its own hash must change with it.
  const script = fs
    .readFileSync(path.join(bindgenDir, `${m.outputName}.js`), 'utf8')
    .replaceAll(`${m.outputName}_bg.wasm`, `${m.outputName}.${wasmHash}.wasm`)
  const js = Buffer.from(esbuild.transformSync(script, { minify: true, format: 'esm', target: 'es2022' }).code)
  const css = styles()
  const hashes = { js: hashOf(js), wasm: wasmHash, css: hashOf(css) }
  for (const [kind, content] of Object.entries({ js, wasm, css })) {
    fs.writeFileSync(path.join(pkg, `${m.outputName}.${hashes[kind]}.${kind}`), content)
  }

  for (const file of [...filesUnder(site)]) {
    if (!compressible.has(path.extname(file))) continue
    const content = fs.readFileSync(file)
    fs.writeFileSync(`${file}.gz`, zlib.gzipSync(content, { level: 9 }))
    const brotli = zlib.brotliCompressSync(content, {
      params: {
        [zlib.constants.BROTLI_PARAM_QUALITY]: 11,
        [zlib.constants.BROTLI_PARAM_LGWIN]: 22,
        [zlib.constants.BROTLI_PARAM_SIZE_HINT]: content.length,
      },
    })
    fs.writeFileSync(`${file}.br`, brotli)
  }
  return hashes
}

function report() {
  const kb = (file) => `${(fs.statSync(file).size / 1024).toFixed(1)} KiB`.padStart(11)
  console.log('  file           raw        gzip      brotli')
  for (const file of fs.readdirSync(path.join(m.siteRoot, m.pkg)).sort()) {
    const kind = path.extname(file).slice(1)
    if (!hashedKinds.includes(kind)) continue
    const full = path.join(m.siteRoot, m.pkg, file)
    console.log(`  ${kind.padEnd(5)} ${kb(full)} ${kb(`${full}.gz`)} ${kb(`${full}.br`)}`)
  }
}

/** Whether the site of these inputs stands: `cargo leptos` may have put its own there. */
function standing() {
  if (!fs.existsSync(keyFile) || fs.readFileSync(keyFile, 'utf8') !== key || !fs.existsSync(m.hashFile)) return false
  const hashes = parseHashes(fs.readFileSync(m.hashFile, 'utf8'))
  return hashedKinds.every((kind) =>
    fs.existsSync(path.join(m.siteRoot, m.pkg, `${m.outputName}.${hashes[kind]}.${kind}.br`)),
  )
}

const keyFile = path.join(m.frontTargetDir, 'site.key')
const key = inputKey()
if (standing()) {
  console.log('  the site is up to date')
} else {
  fs.rmSync(keyFile, { force: true })
  const fresh = `${m.siteRoot}.new`
  const hashes = build(fresh)
  fs.rmSync(m.siteRoot, { recursive: true, force: true })
  fs.renameSync(fresh, m.siteRoot)
  fs.mkdirSync(path.dirname(m.hashFile), { recursive: true })
  fs.writeFileSync(m.hashFile, hashedKinds.map((kind) => `${kind}: ${hashes[kind]}\n`).join(''))
  fs.writeFileSync(keyFile, key)
}
report()
