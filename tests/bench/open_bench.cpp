// SPDX-License-Identifier: MIT
//
// Opening a file of many dense objects: ours, which validates and indexes, against nlohmann::json::from_cbor on the
// same index, which only parses. Both alternate in one run; prints medians, memory and allocations.
// Then indices that cost more than plain ones: what a byte of each takes beside a byte of a plain one.
// Usage: open_bench [OBJECTS [ROUNDS]]
//        open_bench open FILE ROUNDS    prints the median of what opening and closing FILE takes, in microseconds
//        open_bench families [BYTES [ROUNDS]]    only the last part, with indices of about so many bytes
#include "families.hpp"
#include "table.hpp"
#include "walk.hpp"

#include <ztensor/import.hpp>
#include <ztensor/ztensor.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::atomic<std::size_t> allocation_count{0};
std::atomic<std::size_t> live_bytes{0};
constexpr std::size_t header_bytes = alignof(std::max_align_t);

void* counted_allocation(std::size_t size) noexcept {
    void* const block = std::malloc(size + header_bytes);
    if (block == nullptr) {
        return nullptr;
    }
    *static_cast<std::size_t*>(block) = size;
    ++allocation_count;
    live_bytes += size;
    return static_cast<std::byte*>(block) + header_bytes;
}

// Not inlined: g++ would warn of what it guesses to be before a block.
ZTENSOR_NOINLINE void counted_release(void* pointer) noexcept {
    if (pointer != nullptr) {
        void* const block = static_cast<std::byte*>(pointer) - header_bytes;
        live_bytes -= *static_cast<std::size_t*>(block);
        std::free(block);
    }
}

} // namespace

void* operator new(std::size_t size) {
    if (void* const pointer = counted_allocation(size)) {
        return pointer;
    }
    throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return counted_allocation(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return counted_allocation(size);
}
void operator delete(void* pointer) noexcept {
    counted_release(pointer);
}
void operator delete(void* pointer, std::size_t) noexcept {
    counted_release(pointer);
}
void operator delete[](void* pointer, const std::nothrow_t&) noexcept {
    counted_release(pointer);
}

namespace {

/// A model of many small matrices, named and blob-ordered as real ones are.
std::vector<std::byte> make_file(std::size_t objects, bool is_sorted) {
    auto out = ztensor::writer::to_memory().value();
    const std::vector<float> values(4);
    for (std::size_t i = 0; i < objects; ++i) {
        const std::size_t layer = is_sorted ? i + 10'000'000 : i;
        out.add("model.layers." + std::to_string(layer) + ".self_attn.q_proj.weight", {2, 2}, values).value();
    }
    out.finish().value();
    return out.take_bytes();
}

double microseconds(const bench::work& work) {
    return bench::seconds(work) * 1e6;
}

void report(const char* title, const std::vector<std::byte>& file, std::size_t rounds) {
    const std::uint64_t index_bytes = ztensor::reader::from_bytes(file).value().manifest_bytes();
    const auto* const index_end = file.data() + file.size() - 16;
    const std::vector<std::uint8_t> index = [&] {
        std::vector<std::uint8_t> copy;
        for (const auto* at = index_end - index_bytes; at != index_end; ++at) {
            copy.push_back(std::to_integer<std::uint8_t>(*at));
        }
        return copy;
    }();
    std::vector<double> ours, ours_with_find, theirs;
    std::size_t allocations = 0, kept_bytes = 0, objects = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
        ours.push_back(microseconds([&] {
            const std::size_t allocations_before = allocation_count, bytes_before = live_bytes;
            const auto model = ztensor::reader::from_bytes(file).value();
            allocations = allocation_count - allocations_before;
            kept_bytes = live_bytes - bytes_before;
            objects = model.size();
        }));
        ours_with_find.push_back(microseconds([&] {
            const auto model = ztensor::reader::from_bytes(file).value();
            if (!model.contains("model.layers.10000007.self_attn.q_proj.weight") && objects == 0) {
                std::abort();
            }
        }));
        theirs.push_back(microseconds([&] {
            if (nlohmann::json::from_cbor(index)["objects"].size() != objects) {
                std::abort();
            }
        }));
    }
    const double n = static_cast<double>(objects);
    std::printf("%s: %zu objects, index of %.1f MB\n", title, objects, static_cast<double>(index_bytes) / 1e6);
    std::printf("  %-38s %9.0f us  %7.1f ns/object\n", "open, validate, close", bench::median(ours),
                bench::median(ours) * 1e3 / n);
    std::printf("  %-38s %9.0f us  %7.1f ns/object\n", "the same with one find()", bench::median(ours_with_find),
                bench::median(ours_with_find) * 1e3 / n);
    std::printf("  %-38s %9.0f us  %7.1f ns/object\n", "nlohmann::json::from_cbor", bench::median(theirs),
                bench::median(theirs) * 1e3 / n);
    std::printf("  ours is %.1f times as fast; memory held is %.2f x the index; %zu allocations\n\n",
                bench::median(theirs) / bench::median(ours),
                static_cast<double>(kept_bytes) / static_cast<double>(index_bytes), allocations);
}

/// Indices are to cost no more than twice what a plain one of that size does. Beside each, a bare walk of the same
/// index.
void report_families(std::size_t index_bytes, int rounds) {
    std::vector<std::vector<std::byte>> files;
    std::vector<double> sizes;
    for (const bench::family& each : bench::families::all) {
        files.push_back(bench::make_family(each, index_bytes));
        sizes.push_back(static_cast<double>(ztensor::reader::from_bytes(files.back()).value().manifest_bytes()));
    }
    std::vector<bench::work> all;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const std::vector<std::byte>& file = files[i];
        const std::size_t footer_bytes = std::string_view(bench::families::all[i].version) == "1.2.0" ? 16 : 8;
        const auto* const end =
            static_cast<const unsigned char*>(static_cast<const void*>(file.data())) + file.size() - footer_bytes;
        const auto* const begin = end - static_cast<std::size_t>(sizes[i]);
        all.emplace_back([&file] { bench::keep(ztensor::reader::from_bytes(file).value().size()); });
        all.emplace_back([=] { bench::keep(static_cast<std::size_t>(bench::walk(begin, end) - begin)); });
    }
    const std::vector<bench::duration> times = bench::medians(rounds, all);
    std::printf("| opening, in memory | index | ns/byte | beside the first | goal | | a bare walk, ns/byte | ratio |\n"
                "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    double first = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const double per_byte = times[2 * i].least * 1e9 / sizes[i];
        const double walk_per_byte = times[2 * i + 1].least * 1e9 / sizes[i];
        first = i == 0 ? per_byte : first;
        std::printf("| %s | %.1f MB | %.2f | %.2f | 2.00 | %s | %.2f | %.2f |\n", bench::families::all[i].name,
                    sizes[i] / 1e6, per_byte, per_byte / first, per_byte <= 2 * first ? "met" : "missed", walk_per_byte,
                    walk_per_byte / per_byte);
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 4 && std::string(argv[1]) == "open") {
        std::vector<double> times(std::strtoull(argv[3], nullptr, 10));
        for (double& each : times) {
            each = microseconds([&] { static_cast<void>(ztensor::reader::open(argv[2]).value()); });
        }
        std::printf("%f\n", bench::median(times));
        return 0;
    }
    if (argc == 4 && (std::string(argv[1]) == "open-any" || std::string(argv[1]) == "load-any")) {
        const bool is_load = std::string(argv[1]) == "load-any";
        std::vector<double> times(std::strtoull(argv[3], nullptr, 10));
        for (double& each : times) {
            std::vector<ztensor::loaded_tensor> loaded; // freeing it is not timed, of the others neither
            each = microseconds([&] {
                const ztensor::reader file = ztensor::open_any(argv[2]).value();
                if (is_load) {
                    loaded = ztensor::read_all(file).value();
                }
            });
        }
        std::printf("%f\n", bench::median(times));
        return 0;
    }
    if (argc >= 2 && std::string(argv[1]) == "families") {
        report_families(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 12'000'000, argc > 3 ? std::atoi(argv[3]) : 9);
        return 0;
    }
    const std::size_t objects = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
    const std::size_t rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 9;
    report("blobs in the order of names", make_file(objects, true), rounds);
    report("blobs in another order", make_file(objects, false), rounds);
    report_families(12'000'000, static_cast<int>(rounds));
}
