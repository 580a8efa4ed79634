// SPDX-License-Identifier: MIT
//
// node wasi.mjs PROGRAM [WORD...]: runs a program made for WASI, which sees the folder that it is run in.
import {readFileSync} from 'node:fs';
import {WASI} from 'node:wasi';

const [, , program, ...words] = process.argv;
const wasi = new WASI({version: 'preview1', args: [program, ...words], preopens: {'.': '.'}});
const {instance} = await WebAssembly.instantiate(readFileSync(program), wasi.getImportObject());
process.exitCode = wasi.start(instance);
