// The project's own files, as git sees them (tracked, or new and not ignored).
//
// Owns: which files the rules look at, and how a fault is told.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { root } from './leptos-metadata.mjs'

/** Paths relative to the root, with forward slashes; deleted ones left out. */
export function sourceFiles() {
  return execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter((file) => file && fs.existsSync(path.join(root, file)))
    .sort()
}

export const read = (file) => fs.readFileSync(path.join(root, file), 'utf8')

/** Rust without comments, line numbers kept: rules look at code, not at prose. */
export function rustCode(file) {
  return read(file)
    .split('\n')
    .map((line) => line.replace(/(^|\s)\/\/.*$/, '$1'))
    .join('\n')
}

/** Code whose string literals are emptied (their quotes and lines stay). */
export const withoutStrings = (code) =>
  code.replace(/'(?:\\.|[^'\\])'|r(#*)"[\s\S]*?"\1|"(?:[^"\\]|\\.)*"/g, (literal) =>
    literal.startsWith("'") ? literal : `"${literal.slice(0, -1).replace(/[^\n]/g, ' ').slice(1)}"`,
  )

export const lineOf = (text, index) => text.slice(0, index).split('\n').length

/** Prints the faults of one rule; true where there are none. */
export function report(rule, faults, satisfied) {
  for (const fault of faults) console.error(`${rule}: ${fault}`)
  if (faults.length === 0) console.log(`${rule}: ${satisfied}`)
  return faults.length === 0
}
