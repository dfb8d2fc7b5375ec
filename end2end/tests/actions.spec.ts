// Every verb, sent from a browser with scripts and without: a record in the state that it takes, the way to
// its form, and what is true afterwards, by what the console, the providers and the consumer know.
import type { APIRequestContext, Page } from '@playwright/test'
import { bearer, demo, effectOf, effects, fresh, ledger, operation, unknownPayment } from './demo'
import { enter, expect, test } from './fixtures'
import { approve, asked, itHappened, receipt, send, toForm } from './forms'
import { look } from './look'
import * as records from './records'

interface Row<R extends { id: string }> {
  /** Makes its record. */
  make: (request: APIRequestContext) => Promise<R>
  /** Fills what the form asks beside the reason. */
  fill?: (page: Page, record: R, request: APIRequestContext) => Promise<void>
  /** What the receipt says. */
  receipt: string
  /** Whether one person only asks, and another carries it out. */
  second?: true
  /** Whether its form is looked at here. */
  look?: true
  /** What must be true after. */
  judge: (request: APIRequestContext, record: R) => Promise<void>
}

/** One row of the table: the verb, the records by the path of their pages, and what follows in words. */
function decides<R extends { id: string }>(verb: string, on: string, follows: string, row: Row<R>) {
  test(`${on}, ${verb}: ${follows} @no-js`, async ({ page, request, browser }) => {
    test.setTimeout(120_000)
    const record = await row.make(request)
    const place = `/${on}/${record.id}`
    await enter(page, 'operator@acme.test', place)
    await toForm(page, place, verb)
    if (row.look) await look(page, `form-${on}-${verb}`)
    await row.fill?.(page, record, request)
    await send(page, `Decided in a browser: ${verb}.`)
    if (row.second) await approve(browser, await asked(page), row.receipt)
    else await receipt(page, row.receipt)
    await row.judge(request, record)
  })
}

decides('confirm', 'operations', 'two people know of a large charge that it happened, and it happened once', {
  make: (request) => unknownPayment(request, 'large', { amount: 249_900 }),
  fill: (page, { invoice }, request) => itHappened(page, request, invoice),
  receipt: 'Confirmed: it happened',
  second: true,
  judge: async (request, { id, invoice }) => {
    const after = await operation(request, id)
    expect(after.status).toBe('succeeded')
    expect(after.external_reference).toBe((await effectOf(request, invoice)).id)
  },
})

decides('release', 'operations', 'whoever asks again gets the work, under a higher fence', {
  make: records.stuckLease,
  receipt: 'Released: can be claimed again',
  look: true,
  judge: async (request, draft) => {
    expect((await operation(request, draft.id)).lease.state).toBe('none')
    const again = await records.askedAgain(request, draft)
    expect(again.status()).toBe(201)
    const won = (await again.json()) as { id: string; fence: number }
    expect(won.id).toBe(draft.id)
    expect(won.fence, 'raised by the release and by the new holder: the old one can write nothing more').toBe(draft.fence + 2)
  },
})

decides('reconcile', 'operations', 'the provider is asked once more, and its word settles it', {
  make: (request) => unknownPayment(request, 'asked', { lookups: 1 }),
  receipt: 'Reconciliation asked for',
  judge: async (request, { id, invoice }) => {
    const after = await records.until(() => operation(request, id), ({ status }) => status === 'succeeded', 'settled')
    expect(after.external_reference).toBe((await effectOf(request, invoice)).id)
  },
})

decides('retry', 'operations', 'there is one attempt more, and the service gets it', {
  make: (request) => records.finished(request, 'not_done'),
  receipt: 'Another attempt granted',
  look: true,
  judge: async (request, draft) => {
    const after = await operation(request, draft.id)
    expect(after.max_attempts, 'five by its kind').toBe(6)
    expect((await records.askedAgain(request, draft)).status()).toBe(201)
  },
})

decides('cancel', 'operations', 'the call cannot begin any more, and the key stays closed', {
  make: (request) => records.preview(request),
  receipt: 'Cancelled before the call began',
  look: true,
  judge: async (request, draft) => {
    expect((await operation(request, draft.id)).status).toBe('failed_terminal')
    const headers = bearer(demo.service_tokens.acme)
    const begun = await request.post(`/api/v1/operations/${draft.id}/start`, { headers, data: { fence: draft.fence } })
    expect(begun.ok()).toBe(false)
    expect((await records.askedAgain(request, draft)).ok()).toBe(false)
  },
})

decides('correct', 'operations', 'two people put a confirmation right, and both stand on the record', {
  make: async (request) => {
    const payment = await unknownPayment(request, 'mistake', { mode: 'fail_500' })
    const mistake = { outcome: 'happened', external_reference: 'ch_of_another', reason: 'The statement shows it.' }
    await records.decide(request, `/operations/${payment.id}/actions/confirm`, { version: payment.version, ...mistake })
    return payment
  },
  fill: (page) => page.locator('input[name=outcome][value=not_happened_stop]').check(),
  receipt: 'Corrected: it did not happen: stop',
  second: true,
  look: true,
  judge: async (request, { id, invoice }) => {
    const after = await operation(request, id)
    expect(after.status, 'the state stays').toBe('succeeded')
    expect(after.corrections.map(({ happened }: { happened: boolean }) => happened)).toEqual([false])
    expect(await ledger(request, invoice), 'the customer was never charged').toHaveLength(0)
  },
})

decides('requeue', 'outbox', 'the event is told once, and the one behind it after it', {
  make: records.deadEvent,
  receipt: 'Decided: requeue',
  look: true,
  judge: async (request, { id, aggregate }) => {
    const told = await records.until(() => records.taken(request, aggregate), ({ length }) => length === 2, 'both are told')
    expect(told.map(({ topic, deliveries }) => [topic, deliveries])).toEqual([['draft.made', 1], ['draft.due', 1]])
    expect((await records.read(request, `/outbox/${id}`)).status).toBe('published')
  },
})

decides('skip', 'outbox', 'the event is never told, and the one behind it is', {
  make: records.deadEvent,
  receipt: 'Decided: skip',
  judge: async (request, { id, aggregate }) => {
    const told = await records.until(() => records.taken(request, aggregate), ({ length }) => length === 1, 'one is told')
    expect(told[0]!.topic).toBe('draft.due')
    expect((await records.read(request, `/outbox/${id}`)).status).toBe('skipped')
  },
})

/** A message that came too late and asks for a document to be published. */
const lateMessage = async (request: APIRequestContext) => {
  const document = fresh('DOC')
  const { id } = (await records.deliver(request, document)) as { id: string }
  return { id, document }
}

decides('run', 'inbox', 'its document is published once, however often it comes', {
  make: lateMessage,
  receipt: 'Decided: run',
  judge: async (request, { id, document }) => {
    const published = () => effects(request, { document_id: document })
    await records.until(published, ({ length }) => length === 1, 'it is published')
    await records.deliver(request, document)
    const message = await records.read(request, `/inbox/${id}`)
    expect(message.status).toBe('processed')
    const { status } = await operation(request, message.operation_id)
    expect([status, (await published()).length]).toEqual(['succeeded', 1])
  },
})

decides('drop', 'inbox', 'nothing comes of it, however often it comes', {
  make: lateMessage,
  receipt: 'Decided: drop',
  look: true,
  judge: async (request, { id, document }) => {
    await records.deliver(request, document)
    const message = await records.read(request, `/inbox/${id}`)
    expect([message.status, message.operation_id]).toEqual(['dropped', null])
    expect(await effects(request, { document_id: document })).toHaveLength(0)
  },
})

decides('cancel', 'workflows', 'nothing had happened, and nothing does', {
  make: records.waitingLetter,
  receipt: 'Decided: cancel',
  look: true,
  judge: async (request, { id, draft, letter }) => {
    const reading = () => records.read(request, `/workflows/${id}`)
    const over = await records.until(reading, ({ completed_at }) => completed_at !== null, 'it is over')
    // The draft was reserved, so that it was undone as far as anything had happened: not at all.
    expect(['cancelled', 'compensated']).toContain(over.status)
    expect((await operation(request, draft)).status).toBe('failed_terminal')
    expect(await effects(request, { campaign_id: letter })).toHaveLength(0)
  },
})

decides('resume', 'workflows', 'it goes on at its first open step, and no finished step runs again', {
  make: async (request) => {
    const blocked = await records.blockedLetter(request)
    blocked.mend()
    return blocked
  },
  receipt: 'Decided: resume',
  look: true,
  judge: async (request, { id, draft, letter }) => {
    const reading = () => records.read(request, `/workflows/${id}`)
    await records.until(reading, ({ status }) => status === 'completed', 'it is completed')
    expect(await effects(request, { campaign_id: letter }), 'mailed once').toHaveLength(1)
    expect((await operation(request, draft)).attempt, 'drafted once').toBe(1)
  },
})

decides('compensate', 'workflows', 'it ends, and what nothing can undo is never called undone', {
  make: records.blockedLetter,
  receipt: 'Stopped: undone as far as it can be',
  judge: async (request, { id, draft, letter }) => {
    const reading = () => records.read(request, `/workflows/${id}`)
    await records.until(reading, ({ status }) => status === 'closed_partial', 'it is closed, in part')
    expect((await operation(request, draft)).status).toBe('succeeded')
    expect(await effects(request, { campaign_id: letter }), 'no further step').toHaveLength(0)
  },
})

interface Stuck {
  id: string
  flow: string
  invoice: string
}

/** A release whose refund goes wrong in the given way; its record is the undo. */
const stuck = (...refund: Parameters<typeof records.stuckRelease>[1]) => async (request: APIRequestContext): Promise<Stuck> => {
  const { id: flow, invoice, undo } = await records.stuckRelease(request, refund)
  return { id: undo, flow, invoice }
}

/** How a workflow ended, and what is known of its undo. */
async function ended(request: APIRequestContext, { flow }: Stuck, status: string) {
  const reading = () => records.read(request, `/workflows/${flow}`)
  return records.undoOf(await records.until(reading, (now) => now.status === status, `it is ${status}`))
}

decides('retry', 'compensations', 'two people have it tried again, and the money goes back once', {
  make: stuck({ mode: 'reject', code: 'account_closed', times: 1 }),
  receipt: 'Decided: retry',
  second: true,
  look: true,
  judge: async (request, undone) => {
    const undo = await ended(request, undone, 'compensated')
    expect([undo.status, undo.n]).toEqual(['compensated', 2])
    expect(await records.refunds(request, undone.invoice)).toHaveLength(1)
  },
})

decides('accept', 'compensations', 'the charge stays done, and the end says so', {
  make: stuck({ mode: 'reject', code: 'account_closed' }),
  receipt: 'Decided: accept',
  look: true,
  judge: async (request, undone) => {
    expect((await ended(request, undone, 'closed_partial')).status).toBe('accepted_undone_not')
    expect(await records.refunds(request, undone.invoice)).toHaveLength(0)
  },
})

decides('continue', 'compensations', 'the workflow is closed, and an unknown undo stays unknown', {
  make: stuck({ mode: 'apply_drop' }, { mode: 'no_lookup' }),
  receipt: 'Decided: continue',
  look: true,
  judge: async (request, undone) => {
    const undo = await ended(request, undone, 'closed_partial')
    expect([undo.undo_status, undo.passed]).toEqual(['unknown', true])
    expect(await records.refunds(request, undone.invoice), 'asked for once').toHaveLength(1)
  },
})
