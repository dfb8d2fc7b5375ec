// Reports that a threat of docs/security.md is met, for the table at the end of a run (ci/threats.mjs).
import fs from 'node:fs'
import { test } from '@playwright/test'

/** What was tried against it, and how much of that had an effect; after the test's last assertion. */
export function threat(id: string, tried: number, effects: number) {
  const file = process.env.ONCEOVER_THREATS_FILE
  if (!file) return
  const place = test.info().file.replace(/^.*\/end2end\//, 'end2end/')
  fs.appendFileSync(file, `${id} ${tried} ${effects} ${place}\n`)
}
