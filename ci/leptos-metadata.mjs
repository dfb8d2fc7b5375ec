// What [[workspace.metadata.leptos]] says, read through cargo itself.
//
// Owns: the one reading of that table for the release build and its check, with
// the defaults of cargo-leptos 0.3.11 where a key is absent.
// Guards against: a second copy of names and folders that drifts from the first.
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')

/** Names and absolute folders of the release; throws where the table cannot serve. */
export function leptosMetadata() {
  const metadata = JSON.parse(
    execFileSync('cargo', ['metadata', '--no-deps', '--offline', '--format-version', '1'], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 << 20,
    }),
  )
  const tables = metadata.metadata?.leptos ?? []
  if (tables.length !== 1) throw new Error('Cargo.toml must hold exactly one [[workspace.metadata.leptos]]')
  const table = tables[0]
  const targetDir = metadata.target_directory
  const outputName = table['output-name'] || table.name
  const siteRoot = path.resolve(root, table['site-root'] ?? path.join(targetDir, 'site'))
  const pkg = table['site-pkg-dir'] ?? 'pkg'
  return {
    table,
    packages: metadata.packages,
    targetDir,
    outputName,
    siteRoot,
    pkg,
    binPackage: table['bin-package'],
    binTarget: table['bin-target'],
    libPackage: table['lib-package'],
    wasmProfile: table['lib-profile-release'] ?? 'release',
    frontTargetDir: path.join(targetDir, 'front'),
    styleFile: path.join(root, table['style-file']),
    assetsDir: path.join(root, table['assets-dir']),
    browsers: table.browserquery ?? 'defaults',
    // cargo-leptos puts it beside the server, where leptos looks at run time.
    hashFile: path.join(targetDir, 'release', table['hash-file-name'] ?? 'hash.txt'),
    server: path.join(targetDir, 'release', table['bin-exe-name'] ?? table['bin-package']),
  }
}

/** The three files under pkg/ whose names carry a hash. */
export const hashedKinds = ['js', 'wasm', 'css']

/** hash.txt as leptos reads it: a line `kind: hash` for each kind. */
export function parseHashes(text) {
  const hashes = {}
  for (const line of text.split('\n')) {
    const [kind, hash] = line.split(':', 2)
    if (hash !== undefined) hashes[kind.trim()] = hash.trim()
  }
  return hashes
}

// `node ci/leptos-metadata.mjs` prints what a shell script needs, ready for eval.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const m = leptosMetadata()
  const quoted = (value) => `'${String(value).replaceAll("'", "'\\''")}'`
  const wasm = path.join(
    m.frontTargetDir,
    'wasm32-unknown-unknown',
    m.wasmProfile,
    `${m.libPackage.replaceAll('-', '_')}.wasm`,
  )
  for (const [name, value] of Object.entries({
    BIN_PACKAGE: m.binPackage,
    BIN_TARGET: m.binTarget,
    LIB_PACKAGE: m.libPackage,
    WASM_PROFILE: m.wasmProfile,
    FRONT_TARGET_DIR: m.frontTargetDir,
    WASM_BUILT: wasm,
    OUTPUT_NAME: m.outputName,
    SITE_ROOT: m.siteRoot,
    SERVER: m.server,
  })) {
    console.log(`${name}=${quoted(value)}`)
  }
}
