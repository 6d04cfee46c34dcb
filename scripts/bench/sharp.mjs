// A warm worker: each line on standard input has one picture decoded, turned
// gray, sharpened and encoded again; the answer is the CPU time in seconds.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { readFileSync } from 'node:fs'

const [folder, file] = process.argv.slice(2)
const sharp = createRequire(folder + '/')('sharp')
sharp.concurrency(1)
sharp.cache(false)
const input = readFileSync(file)
for await (const _ of createInterface({ input: process.stdin })) {
  const before = process.cpuUsage()
  await sharp(input).grayscale().sharpen().png().toBuffer()
  const { user, system } = process.cpuUsage(before)
  console.log((user + system) / 1e6)
}
