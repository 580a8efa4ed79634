// SPDX-License-Identifier: MIT
//
// The innermost loops by size, each beside the library to beat. Options are those of Google Benchmark.
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/digest.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#if ZTENSOR_BENCH_HAS_ISAL
#include <isa-l/crc.h>
#endif
#if ZTENSOR_BENCH_HAS_OPENSSL
#include <openssl/evp.h>
#endif

namespace {

std::vector<std::byte> some_bytes(const benchmark::State& state) {
    return std::vector<std::byte>(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
}

void count_bytes(benchmark::State& state) {
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void digest(benchmark::State& state, ztensor::digest algorithm) {
    const std::vector<std::byte> bytes = some_bytes(state);
    for (auto _ : state) {
        ztensor::digester running(algorithm);
        running.update(bytes);
        benchmark::DoNotOptimize(running);
    }
    count_bytes(state);
}
BENCHMARK_CAPTURE(digest, crc32c, ztensor::digest::crc32c)->RangeMultiplier(16)->Range(64, 1 << 24);
#if ZTENSOR_BENCH_HAS_ISAL
void isal_crc32c(benchmark::State& state) {
    std::vector<std::byte> bytes = some_bytes(state);
    for (auto _ : state) {
        void* const at = bytes.data();
        benchmark::DoNotOptimize(crc32_iscsi(static_cast<unsigned char*>(at), static_cast<int>(bytes.size()), 0));
    }
    ztensor::detail::zero_upper_halves(ztensor::detail::host_cpu()); // which it leaves in use, to others' harm
    count_bytes(state);
}
BENCHMARK(isal_crc32c)->RangeMultiplier(16)->Range(64, 1 << 24);
#endif

BENCHMARK_CAPTURE(digest, sha256, ztensor::digest::sha256)->RangeMultiplier(16)->Range(64, 1 << 24);
#if ZTENSOR_BENCH_HAS_OPENSSL
void openssl_sha256(benchmark::State& state) {
    const std::vector<std::byte> bytes = some_bytes(state);
    for (auto _ : state) {
        unsigned char out[32];
        benchmark::DoNotOptimize(EVP_Digest(bytes.data(), bytes.size(), out, nullptr, EVP_sha256(), nullptr));
    }
    count_bytes(state);
}
BENCHMARK(openssl_sha256)->RangeMultiplier(16)->Range(64, 1 << 24);
#endif

void copy_bytes(benchmark::State& state) {
    const std::vector<std::byte> from = some_bytes(state);
    std::vector<std::byte> to = some_bytes(state);
    for (auto _ : state) {
        std::memcpy(to.data(), from.data(), from.size());
        benchmark::ClobberMemory();
    }
    count_bytes(state);
}
BENCHMARK(copy_bytes)->RangeMultiplier(16)->Range(64, 1 << 24);

void hash_name(benchmark::State& state) {
    const std::string name(static_cast<std::size_t>(state.range(0)), 'n');
    for (auto _ : state) {
        benchmark::DoNotOptimize(ztensor::detail::hash_name(name, 0x9e3779b97f4a7c15U));
    }
}
BENCHMARK(hash_name)->Arg(6)->Arg(20)->Arg(40)->Arg(100);

} // namespace

BENCHMARK_MAIN();
