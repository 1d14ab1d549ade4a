// Calls of npm libraries by a Python script: one request as JSON on each line of stdin, one response on each of stdout.
// Exceptions are returned too, so that a library that refuses a signature of ours counts as a mismatch.

import { createInterface } from "node:readline";

export const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
export const hex = (buffer) => Buffer.from(buffer).toString("hex");

export async function answer(calls) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { call, ...request } = JSON.parse(line);
    console.log(JSON.stringify(await answered(calls[call], request)));
  }
}

async function answered(call, request) {
  try {
    return { answer: await call(request) };
  } catch (fault) {
    return { fault: String(fault) };
  }
}
