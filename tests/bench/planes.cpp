// SPDX-License-Identifier: MIT
//
// Floats in planes beside raw ones and zstd: how small, and how fast to write and to read. planes.py runs it beside
// ZipNN, which reads the elements that this leaves behind.
// usage: planes FOLDER ROUNDS [MODEL...]; FOLDER gets 2 GB, on the disk that matters for cold files. A model's tensors
// of one type are taken as one. Prints rows of numbers: data, way, share of raw, seconds of CPU for writing to nowhere
// and for reading from memory by one thread, seconds of reading a file on 1 and 2 threads, and of one that the cache
// has lost.
#include <ztensor/import.hpp>
#include <ztensor/ztensor.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

template <class T>
T must(ztensor::result<T> done) {
    if (!done) {
        std::fprintf(stderr, "%s\n", done.error().what().c_str());
        std::exit(1);
    }
    return *std::move(done);
}
void must(const ztensor::result<void>& done) {
    if (!done) {
        std::fprintf(stderr, "%s\n", done.error().what().c_str());
        std::exit(1);
    }
}

double cpu_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The least of some rounds.
double least(int rounds, double (*now)(), const std::function<void()>& work) {
    double best = 1e9;
    for (int i = 0; i < rounds; ++i) {
        const double begin = now();
        work();
        best = std::min(best, now() - begin);
    }
    return best;
}

struct elements {
    std::string name;
    ztensor::dtype storage;
    std::vector<std::byte> bytes;
};

/// Weights of `rows` of 4,096, each with a scale of its own if they are `unlike`.
template <class T>
elements weights(const std::string& name, ztensor::dtype storage, std::size_t rows, bool are_unlike) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 0.02F);
    std::lognormal_distribution<float> scales(0, 1);
    elements made = {name, storage, std::vector<std::byte>(rows * 4096 * sizeof(T))};
    for (std::size_t row = 0; row < rows; ++row) {
        const float scale = are_unlike ? scales(random) : 1;
        for (std::size_t i = 0; i < 4096; ++i) {
            const T element = static_cast<T>(normal(random) * scale);
            std::memcpy(made.bytes.data() + (row * 4096 + i) * sizeof(T), &element, sizeof(T));
        }
    }
    return made;
}

/// All tensors of each floating-point type that a model has much of.
void add_model(const std::string& path, std::vector<elements>& all) {
    const ztensor::reader model = must(ztensor::open_any(path));
    for (const ztensor::dtype storage : {ztensor::dtype::bf16, ztensor::dtype::f16, ztensor::dtype::f32}) {
        elements made = {path.substr(path.rfind('/') + 1), storage, {}};
        for (const ztensor::object_view object : model) {
            if (object.dtype() == storage && !object.type().is_present()) {
                const auto bytes = must(object.read<std::byte>());
                made.bytes.insert(made.bytes.end(), bytes.begin(), bytes.end());
            }
        }
        if (made.bytes.size() >= std::size_t{1} << 18) {
            all.push_back(std::move(made));
        }
    }
}

/// Forgets what is written, so that writing costs what encoding does.
class nowhere final : public ztensor::byte_sink {
public:
    ztensor::result<void> write(ztensor::bytes_view) override { return {}; }
    ztensor::result<void> finish() override { return {}; }
};

ztensor::writer written(ztensor::writer out, const elements& data, const ztensor::store& how) {
    must(out.add_bytes("w", {data.bytes.size() / width_bytes(data.storage)}, data.storage, data.bytes, how));
    must(out.finish());
    return out;
}

void read(const ztensor::reader& from, std::vector<std::byte>& to) {
    must(from["w"].read_into(ztensor::span<std::byte>(to)));
}

void forget(const std::string& path) {
    const int handle = ::open(path.c_str(), O_RDONLY);
    ::fsync(handle);
    ::posix_fadvise(handle, 0, 0, POSIX_FADV_DONTNEED);
    ::close(handle);
}

void measure(const std::string& folder, int rounds, const elements& data) {
    const std::pair<const char*, ztensor::store> ways[] = {{"raw", {}},
                                                           {"zstd 1", ztensor::store().zstd(1)},
                                                           {"zstd 3", ztensor::store().zstd(3)},
                                                           {"planes", ztensor::store().planes()}};
    std::vector<std::byte> to(data.bytes.size());
    for (const auto& [name, how] : ways) {
        const std::vector<std::byte> bytes = written(must(ztensor::writer::to_memory()), data, how).take_bytes();
        const double writing = least(rounds, cpu_seconds, [&, &how = how] {
            written(must(ztensor::writer::to_sink(std::make_unique<nowhere>(), ztensor::write_options().threads(1))),
                    data, how);
        });
        const auto in_memory = must(ztensor::reader::from_bytes(bytes, ztensor::read_options().threads(1)));
        const double reading = least(rounds, cpu_seconds, [&] { read(in_memory, to); });
        const std::string path = folder + "/planes.zt";
        std::FILE* const file = std::fopen(path.c_str(), "wb");
        if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) {
            std::exit(1);
        }
        std::fclose(file);
        double warm[2] = {};
        for (unsigned threads = 1; threads <= 2; ++threads) {
            const auto opened = must(ztensor::reader::open(path, ztensor::read_options().threads(threads)));
            warm[threads - 1] = least(rounds, seconds, [&] { read(opened, to); });
        }
        double cold = 1e9;
        for (int i = 0; i < rounds; ++i) {
            forget(path);
            const auto opened = must(ztensor::reader::open(path));
            cold = std::min(cold, least(1, seconds, [&] { read(opened, to); }));
        }
        if (to != data.bytes) {
            std::fprintf(stderr, "%s in %s came back otherwise\n", data.name.c_str(), name);
            std::exit(1);
        }
        std::printf("%s|%s|%zu|%s|%.4f|%.5f|%.5f|%.5f|%.5f|%.5f\n", data.name.c_str(),
                    std::string(ztensor::name(data.storage)).c_str(), data.bytes.size(), name,
                    static_cast<double>(bytes.size()) / static_cast<double>(data.bytes.size()), writing, reading,
                    warm[0], warm[1], cold);
        std::fflush(stdout);
    }
}

} // namespace

int main(int count, char** words) {
    if (count < 3) {
        std::fprintf(stderr, "usage: planes FOLDER ROUNDS [MODEL...]\n");
        return 2;
    }
    const std::string folder = words[1];
    const int rounds = std::atoi(words[2]);
    std::vector<elements> all;
    all.push_back(weights<ztensor::bfloat16>("Gaussian", ztensor::dtype::bf16, 16384, false));
    all.push_back(weights<ztensor::float16>("Gaussian", ztensor::dtype::f16, 16384, false));
    all.push_back(weights<float>("Gaussian", ztensor::dtype::f32, 8192, false));
    all.push_back(weights<ztensor::bfloat16>("rows of unlike scale", ztensor::dtype::bf16, 16384, true));
    all.push_back(weights<float>("rows of unlike scale", ztensor::dtype::f32, 8192, true));
    for (int i = 3; i < count; ++i) {
        add_model(words[i], all);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::string path = folder + "/planes_" + std::to_string(i) + ".bin"; // for ZipNN
        std::FILE* const file = std::fopen(path.c_str(), "wb");
        if (file == nullptr || std::fwrite(all[i].bytes.data(), 1, all[i].bytes.size(), file) != all[i].bytes.size()) {
            return 1;
        }
        std::fclose(file);
        measure(folder, rounds, all[i]);
    }
}
