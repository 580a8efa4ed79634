// SPDX-License-Identifier: MIT
//
// speech MODEL WAV [REFERENCE]: where somebody speaks in a recording of 16 kHz, by silero-vad's model. With REFERENCE,
// a probability for each 512 samples as another runtime gave them, it tells the largest difference, and fails above
// 1e-5.
#include <ztensor/ztensor.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
constexpr std::size_t chunk = 512, context = 64, padding = 64, window = 256, hop = 128, bins = 129, cells = 128;
using weight = ztensor::tensor<float>;
using floats = std::vector<float>;
struct convolution {
    weight kernel, bias; // kernel: [out, in, 3]
    std::size_t stride;
};
struct voice_detector {
    weight stft; // [2 * bins, 1, window]: the real part of each bin, then the imaginary one
    std::vector<convolution> encoder;
    weight input, recurrent, input_bias, recurrent_bias, output, output_bias;
};

voice_detector load(const ztensor::reader& model) {
    const auto get = [&](const std::string& name, const ztensor::expected_shape& shape) {
        return model.acquire<float>(name, shape).value(); // another shape is an error that names both
    };
    voice_detector made;
    made.stft = get("stft_conv.weight", {2 * bins, 1, window});
    const std::size_t widths[] = {bins, 128, 64, 64, 128}, strides[] = {1, 2, 2, 1};
    for (std::size_t i = 0; i < 4; ++i) {
        const std::string name = "conv" + std::to_string(i + 1);
        made.encoder.push_back(
            {get(name + ".weight", {widths[i + 1], widths[i], 3}), get(name + ".bias", {widths[i + 1]}), strides[i]});
    }
    made.input = get("lstm_cell.weight_ih", {4 * cells, cells});
    made.recurrent = get("lstm_cell.weight_hh", {4 * cells, cells});
    made.input_bias = get("lstm_cell.bias_ih", {4 * cells});
    made.recurrent_bias = get("lstm_cell.bias_hh", {4 * cells});
    made.output = get("final_conv.weight", {1, cells, 1});
    made.output_bias = get("final_conv.bias", {1});
    return made;
}

/// [channels][time] -> [out][time / stride], with one zero at both ends and negative values cut off.
std::vector<floats> convolve(const std::vector<floats>& in, const convolution& by) {
    const std::size_t time = in[0].size(), steps = (time + by.stride - 1) / by.stride, out_count = by.bias.size();
    std::vector<floats> out(out_count, floats(steps));
    for (std::size_t o = 0; o < out_count; ++o) {
        for (std::size_t t = 0; t < steps; ++t) {
            float sum = by.bias[o];
            for (std::size_t i = 0; i < in.size(); ++i) {
                for (std::size_t k = 0; k < 3; ++k) {
                    const std::size_t at = t * by.stride + k; // one more than the place
                    sum += at == 0 || at > time ? 0 : in[i][at - 1] * by.kernel[(o * in.size() + i) * 3 + k];
                }
            }
            out[o][t] = (std::max)(sum, 0.0F);
        }
    }
    return out;
}

/// The probability of speech in a chunk, which stands behind the end of the one before; h and c are the state.
float detect(const voice_detector& by, floats sound, floats& h, floats& c) {
    const auto sigmoid = [](float x) { return 1 / (1 + std::exp(-x)); };
    for (std::size_t i = 0; i < padding; ++i) { // mirrored at the end
        sound.push_back(sound[context + chunk - 2 - i]);
    }
    const std::size_t frames = (sound.size() - window) / hop + 1;
    std::vector<floats> signal(bins, floats(frames));
    for (std::size_t bin = 0; bin < bins; ++bin) {
        for (std::size_t t = 0; t < frames; ++t) {
            float real = 0, imaginary = 0;
            for (std::size_t k = 0; k < window; ++k) {
                real += sound[t * hop + k] * by.stft[bin * window + k];
                imaginary += sound[t * hop + k] * by.stft[(bins + bin) * window + k];
            }
            signal[bin][t] = std::sqrt(real * real + imaginary * imaginary);
        }
    }
    for (const convolution& each : by.encoder) {
        signal = convolve(signal, each);
    }
    floats gates(by.input_bias.begin(), by.input_bias.end()); // input, forget, cell, output
    for (std::size_t g = 0; g < gates.size(); ++g) {
        gates[g] += by.recurrent_bias[g];
        for (std::size_t i = 0; i < cells; ++i) {
            gates[g] += by.input[g * cells + i] * signal[i][0] + by.recurrent[g * cells + i] * h[i];
        }
    }
    float sum = by.output_bias[0];
    for (std::size_t i = 0; i < cells; ++i) {
        c[i] = sigmoid(gates[cells + i]) * c[i] + sigmoid(gates[i]) * std::tanh(gates[2 * cells + i]);
        h[i] = sigmoid(gates[3 * cells + i]) * std::tanh(c[i]);
        sum += by.output[i] * (std::max)(h[i], 0.0F);
    }
    return sigmoid(sum);
}

/// The samples of a WAV file of one channel, 16 bits and 16 kHz, whose data follows a header of 44 bytes.
floats read_wav(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (bytes.size() < 44 || bytes.substr(22, 6) != std::string("\1\0\x80\x3e\0\0", 6)) {
        throw std::runtime_error(path + " is no WAV file of one channel and 16 kHz");
    }
    floats samples;
    for (std::size_t i = 44; i + 1 < bytes.size(); i += 2) {
        const int low = static_cast<unsigned char>(bytes[i]), high = static_cast<signed char>(bytes[i + 1]);
        samples.push_back(static_cast<float>(high * 256 + low) / 32768);
    }
    return samples;
}

} // namespace

int main(int count, char** arguments) try {
    const voice_detector detector = load(ztensor::reader::open(count > 2 ? arguments[1] : "").value());
    floats sound = read_wav(arguments[2]), h(cells), c(cells);
    sound.resize((sound.size() + chunk - 1) / chunk * chunk);
    sound.insert(sound.begin(), context, 0.0F);
    std::ifstream reference(count > 3 ? arguments[3] : "");
    float largest = 0, last = 0;
    for (std::size_t at = context; at < sound.size(); at += chunk) {
        const float* const begin = sound.data() + at - context;
        const float now = detect(detector, floats(begin, begin + context + chunk), h, c);
        if ((now >= 0.5F) != (last >= 0.5F)) {
            std::cout << (now >= 0.5F ? "speech from " : "silence from ") << (at - context) / 16 << " ms on\n";
        }
        last = now;
        if (float expected = 0; reference >> expected) {
            largest = (std::max)(largest, std::abs(now - expected));
        }
    }
    std::cout << "largest difference to the reference: " << largest << '\n';
    return largest <= 1e-5F ? 0 : 1;
} catch (const std::exception& failure) {
    std::cerr << "speech: " << failure.what() << '\n';
    return 1;
}
