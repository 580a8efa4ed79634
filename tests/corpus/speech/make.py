# SPDX-License-Identifier: MIT
"""Makes hello.wav with espeak-ng, and hello.txt: what onnxruntime says of it with the weights of silero-vad-16k.zt.

usage: make.py SILERO_VAD_FOLDER    (the folder data/ of the package silero-vad; takes espeak-ng, onnx, onnxruntime, safetensors)

The package has these weights as silero_vad_16k.safetensors, and its ONNX graphs with others: the graph of
silero_vad_op18_ifless.onnx gets them instead of its own. hello.txt has a probability of speech for each 512 samples, as
silero-vad's own wrapper asks for them: with the 64 samples before, and the state that the call before left. Made on
27 November 2026 with espeak-ng 1.51, silero-vad 6.2.3 and onnxruntime 1.32.0.
"""
import io
import pathlib
import subprocess
import sys
import wave

import numpy
import onnx
import onnxruntime
from safetensors.numpy import load_file

RATE, CHUNK, CONTEXT = 16000, 512, 64
folder, data = pathlib.Path(__file__).parent, pathlib.Path(sys.argv[1])
spoken = subprocess.run(["espeak-ng", "-v", "en", "--stdout", "Hello. These tensors are viewed in place."],
                        check=True, capture_output=True).stdout
with wave.open(io.BytesIO(spoken[:40] + b"\xff\xff\xff\x7f" + spoken[44:])) as heard:
    rate = heard.getframerate()
samples = numpy.frombuffer(spoken[44:], "<i2").astype(float)
at = numpy.arange(0, len(samples) - 1, rate / RATE)
speech = numpy.interp(at, numpy.arange(len(samples)), samples)
noise = numpy.random.default_rng(1).normal(0, 60, RATE // 2)
pcm = numpy.concatenate([noise, speech, noise]).round().clip(-32768, 32767).astype("<i2")
with wave.open(str(folder / "hello.wav"), "wb") as out:
    out.setnchannels(1)
    out.setsampwidth(2)
    out.setframerate(RATE)
    out.writeframes(pcm.tobytes())

names = {"model.stft.forward_basis_buffer": "stft_conv.weight"}
for kind in ("weight", "bias"):
    for i in range(4):
        names[f"model.encoder.{i}.reparam_conv.{kind}"] = f"conv{i + 1}.{kind}"
    names[f"model.decoder.decoder.2.{kind}"] = f"final_conv.{kind}"
    for side in ("ih", "hh"):
        names[f"model.decoder.rnn.{kind}_{side}"] = f"lstm_cell.{kind}_{side}"
weights, graph, given = load_file(data / "silero_vad_16k.safetensors"), onnx.load(data / "silero_vad_op18_ifless.onnx"), set()
for each in graph.graph.initializer:
    if each.name in names:
        each.CopyFrom(onnx.numpy_helper.from_array(weights[names[each.name]], each.name))
        given.add(names[each.name])
assert given == set(weights), set(weights) - given

session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
state = numpy.zeros((2, 1, 128), "f4")
sound = pcm.astype("f4") / 32768
sound = numpy.concatenate([numpy.zeros(CONTEXT, "f4"), sound, numpy.zeros(-len(sound) % CHUNK, "f4")])
with open(folder / "hello.txt", "w", encoding="ascii") as out:
    for begin in range(CONTEXT, len(sound), CHUNK):
        chunk = sound[None, begin - CONTEXT:begin + CHUNK]
        probability, state = session.run(None, {"input": chunk, "state": state, "sr": numpy.array(RATE, "i8")})
        out.write(f"{probability[0][0]:.9g}\n")
