// A warm worker: each line on standard input has two pictures decoded, compared
// in a loop by the sum of channel differences, and the marked picture encoded;
// the answer is the CPU time in seconds.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { readFileSync } from 'node:fs'

const [folder, ...files] = process.argv.slice(2)
const sharp = createRequire(folder + '/')('sharp')
sharp.concurrency(1)
sharp.cache(false)
const [before, after] = files.map((f) => readFileSync(f))
const decode = (file) => sharp(file).ensureAlpha().raw().toBuffer({ resolveWithObject: true })
for await (const _ of createInterface({ input: process.stdin })) {
  const start = process.cpuUsage()
  const a = await decode(before)
  const b = await decode(after)
  const out = Buffer.from(b.data)
  let changed = 0
  for (let i = 0; i < out.length; i += 4) {
    const d = Math.abs(a.data[i] - b.data[i]) + Math.abs(a.data[i + 1] - b.data[i + 1]) + Math.abs(a.data[i + 2] - b.data[i + 2])
    if (d > 15) {
      out[i] = 255
      out[i + 1] = 0
      out[i + 2] = 255
      changed++
    }
  }
  const { width, height, channels } = b.info
  await sharp(out, { raw: { width, height, channels } }).png().toBuffer()
  const { user, system } = process.cpuUsage(start)
  console.log((user + system) / 1e6)
}
