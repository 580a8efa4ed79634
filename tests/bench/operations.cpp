// SPDX-License-Identifier: MIT
//
// Whole operations against what the machine and its best libraries do: performance.md's rules. Prints one table.
// Usage: operations [FOLDER [ROUNDS [GROUP…]]]; FOLDER gets about 2 GB, and should be on the disk that matters. Groups:
// opening, reading, verifying, writing, converting, compressing, copying; without any, all.
//
// Files are read from the page cache, where they are after having been written by this library (1 MiB writes at whole
// MiB), by default and with the promise of stable_file(). Written files are new ones each time, and of those before
// nothing waits for the disk. Data are the same normal distribution for all.
#include "table.hpp"
#include "walk.hpp"

#include <ztensor/detail/os/memory.hpp>
#include <ztensor/ztensor.hpp>

#include <zstd.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <thread>
#include <unordered_map>

#if !defined(ZTENSOR_BENCH_HAS_ISAL)
#define ZTENSOR_BENCH_HAS_ISAL 0
#endif
#if !defined(ZTENSOR_BENCH_HAS_OPENSSL)
#define ZTENSOR_BENCH_HAS_OPENSSL 0
#endif
#if ZTENSOR_BENCH_HAS_ISAL
#include <isa-l/crc.h>
#endif
#if ZTENSOR_BENCH_HAS_OPENSSL
#include <openssl/evp.h>
#endif

namespace {

using bench::keep;
using bench::medians;
using bench::print_row;
using bench::walk;
using bench::work;

const ztensor::read_options by_default;
const ztensor::read_options stable = ztensor::read_options().stable_file();

constexpr std::size_t mebibyte = std::size_t{1} << 20;
std::filesystem::path folder;
int rounds = 9;

std::string in_folder(const char* name) {
    return (folder / name).string();
}

void check(bool good) {
    if (!good) {
        std::perror("a benchmark");
        std::abort();
    }
}

/// Normal weights of the given deviation.
std::vector<float> weights(std::size_t count) {
    std::mt19937 dice(1);
    std::normal_distribution<float> normal(0.0F, 0.02F);
    std::vector<float> some(std::min<std::size_t>(count, mebibyte));
    for (float& each : some) {
        each = normal(dice);
    }
    std::vector<float> all(count);
    for (std::size_t i = 0; i < count; ++i) {
        all[i] = some[(i * 7 + i / mebibyte) % some.size()];
    }
    return all;
}

std::vector<std::string> names_of_layers(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
        char name[64];
        std::snprintf(name, sizeof name, "model.layers.%07zu.self_attn.q_proj.weight", i);
        names.emplace_back(name);
    }
    return names;
}

void opening() {
    for (const std::size_t count : {std::size_t{300}, std::size_t{10000}, std::size_t{100000}, std::size_t{1000000}}) {
        const std::vector<std::string> names = names_of_layers(count);
        const std::string path = in_folder(("objects-" + std::to_string(count) + ".zt").c_str());
        {
            auto out = ztensor::writer::create(path, ztensor::write_options().sync(false)).value();
            const std::vector<float> values(4);
            for (const std::string& name : names) {
                out.add(name, {2, 2}, values).value();
            }
            out.finish().value();
        }
        const std::vector<std::byte> file = [&] {
            std::vector<std::byte> all(std::filesystem::file_size(path));
            const int handle = ::open(path.c_str(), O_RDONLY);
            check(::read(handle, all.data(), all.size()) == static_cast<ssize_t>(all.size()));
            ::close(handle);
            return all;
        }();
        const auto model = ztensor::reader::open(path).value();
        const auto* const end =
            static_cast<const unsigned char*>(static_cast<const void*>(file.data())) + file.size() - 16;
        const auto* const begin = end - model.manifest_bytes();
        const int more = count < 1000000 ? 3 * rounds : rounds;
        const auto times = medians(more, {[&] { keep(ztensor::reader::open(path).value().size()); },
                                          [&] { keep(static_cast<std::size_t>(walk(begin, end) - begin)); }});
        const std::string label = "open " + std::to_string(count) + " objects";
        print_row(label.c_str(), "bare walk of the index", times[0], times[1], 0.70);

        std::unordered_map<std::string_view, std::size_t> map;
        for (std::size_t i = 0; i < count; ++i) {
            map.emplace(names[i], i);
        }
        std::vector<std::string> asked = names;
        std::shuffle(asked.begin(), asked.end(), std::mt19937(3));
        asked.resize(std::min<std::size_t>(asked.size(), 200000));
        keep(model.contains(asked[0]));
        const auto found = medians(rounds, {[&] {
                                                for (const std::string& name : asked) {
                                                    keep(model.find(name).has_value());
                                                }
                                            },
                                            [&] {
                                                for (const std::string& name : asked) {
                                                    keep(map.find(name)->second);
                                                }
                                            }});
        const double n = static_cast<double>(asked.size());
        const std::string lookup = "find among " + std::to_string(count);
        print_row(lookup.c_str(), "unordered_map", found[0] / n, found[1] / n, 1.5);
    }
}

void pread_all(int handle, std::byte* to, std::size_t size, std::size_t from, std::size_t piece) {
    for (std::size_t at = 0; at < size; at += piece) {
        const std::size_t wanted = std::min(piece, size - at);
        check(::pread(handle, to + at, wanted, static_cast<off_t>(from + at)) == static_cast<ssize_t>(wanted));
    }
}

void reading(const std::vector<float>& data) {
    const std::string path = in_folder("large.zt");
    constexpr std::size_t tensors = 8;
    const std::size_t each = data.size() / tensors;
    const std::uint64_t rows = each;
    {
        auto out = ztensor::writer::create(path).value();
        for (std::size_t i = 0; i < tensors; ++i) {
            out.add("t" + std::to_string(i), {rows}, ztensor::span<const float>(data.data() + i * each, each)).value();
        }
        out.finish().value();
    }
    const auto model = ztensor::reader::open(path, by_default).value();
    const auto promised = ztensor::reader::open(path, stable).value();
    const int handle = ::open(path.c_str(), O_RDONLY);
    std::vector<float> into(data.size(), 1.0F);
    const auto destination = [&](std::size_t i) { return ztensor::span<float>(into.data() + i * each, each); };
    auto* const raw = static_cast<std::byte*>(static_cast<void*>(into.data()));
    const std::size_t bytes = each * sizeof(float);
    const auto offset = [&](std::size_t i) {
        return static_cast<std::size_t>((*model.find("t" + std::to_string(i))->begin()).offset());
    };
    const auto view = [&](std::size_t i) { return model.view<float>("t" + std::to_string(i)).value(); };
    const auto offsets = [&] {
        std::vector<std::size_t> all;
        for (std::size_t i = 0; i < tensors; ++i) {
            all.push_back(offset(i));
        }
        return all;
    }();
    const auto by_pieces_of = [&](std::size_t piece) {
        return [&, piece](std::size_t i) { pread_all(handle, raw + i * bytes, bytes, offsets[i], piece); };
    };
    const auto by_pread = by_pieces_of(8 * mebibyte), by_small_pread = by_pieces_of(mebibyte);
    const auto by_memcpy = [&](std::size_t i) { std::memcpy(raw + i * bytes, view(i).data(), bytes); };
    const auto all = [&](const auto& one) {
        return [&one] {
            for (std::size_t i = 0; i < tensors; ++i) {
                one(i);
            }
        };
    };
    const auto halves = [&](const auto& one) {
        return [&one] {
            std::thread other([&] {
                for (std::size_t i = 0; i < tensors; i += 2) {
                    one(i);
                }
            });
            for (std::size_t i = 1; i < tensors; i += 2) {
                one(i);
            }
            other.join();
        };
    };
    const auto reads = [&](const ztensor::reader& from) {
        return [&](std::size_t i) { from.read_into("t" + std::to_string(i), destination(i)).value(); };
    };
    const auto plans = [&](const ztensor::reader& from) {
        return [&] {
            ztensor::load_plan wanted(from);
            for (std::size_t i = 0; i < tensors; ++i) {
                wanted.add("t" + std::to_string(i), destination(i));
            }
            wanted.run(ztensor::load_options().threads(2)).value();
        };
    };
    const auto ours = reads(model), promised_ours = reads(promised);
    const auto times =
        medians(rounds, {all(ours), all(promised_ours), all(by_pread), all(by_small_pread), all(by_memcpy),
                         plans(model), plans(promised), halves(by_pread), halves(by_small_pread), halves(by_memcpy)});
    const auto best_pread = bench::faster(times[2], times[3]), best_of_two = bench::faster(times[7], times[8]);
    print_row("read_into, 1 thread", "pread of 1 or 8 MiB", times[0], best_pread, 0.95);
    print_row("the same, stable_file()", "or memcpy", times[1], bench::faster(best_pread, times[4]), 0.97);
    print_row("load_plan, 2 threads", "the same on 2 threads", times[5], best_of_two, 0.95);
    print_row("the same, stable_file()", "or memcpy", times[6], bench::faster(best_of_two, times[9]), 0.95);

    const auto loads = [&](const ztensor::reader& from) {
        return [&] {
            std::vector<ztensor::array<float>> kept;
            for (std::size_t i = 0; i < tensors; ++i) {
                kept.push_back(from.load<float>("t" + std::to_string(i)).value());
            }
        };
    };
    const auto reads_all = [&](const ztensor::reader& from) {
        return [&] {
            std::vector<std::vector<float>> kept;
            for (std::size_t i = 0; i < tensors; ++i) {
                kept.push_back(from.read<float>("t" + std::to_string(i)).value());
            }
        };
    };
    const auto reads_into_new = [&](const ztensor::reader& from) {
        return [&] {
            std::vector<std::unique_ptr<float[]>> kept;
            for (std::size_t i = 0; i < tensors; ++i) {
                kept.emplace_back(new float[each]);
                from.read_into("t" + std::to_string(i), ztensor::span<float>(kept.back().get(), each)).value();
            }
        };
    };
    const work malloc_and_pread = [&] {
        std::vector<std::unique_ptr<void, decltype(&std::free)>> kept;
        for (std::size_t i = 0; i < tensors; ++i) {
            kept.emplace_back(std::malloc(bytes), &std::free);
            pread_all(handle, static_cast<std::byte*>(kept.back().get()), bytes, offsets[i], bytes);
        }
    };
    const auto owned = medians(rounds, {loads(model), loads(promised), reads_all(model), reads_all(promised),
                                        reads_into_new(model), reads_into_new(promised), malloc_and_pread});
    print_row("load<T>, all kept", "malloc + pread", owned[0], owned[6], 1.7);
    print_row("the same, stable_file()", "malloc + pread", owned[1], owned[6], 1.7);
    print_row("read<T>, all kept", "malloc + pread", owned[2], owned[6], 0.95);
    print_row("the same, stable_file()", "malloc + pread", owned[3], owned[6], 0.95);
    print_row("read_into new memory, all kept", "malloc + pread", owned[4], owned[6], 0.97);
    print_row("the same, stable_file()", "malloc + pread", owned[5], owned[6], 0.97);
    ::close(handle);
}

template <class T>
void converting(const char* label, const char* owned_label, const std::vector<float>& data, double goal) {
    const std::string path = in_folder("narrow.zt");
    std::vector<T> narrow;
    narrow.reserve(data.size());
    for (const float value : data) {
        narrow.push_back(T(value));
    }
    {
        auto out = ztensor::writer::create(path).value();
        out.add("w", {narrow.size()}, narrow).value();
        out.finish().value();
    }
    const auto model = ztensor::reader::open(path, by_default).value();
    const auto promised = ztensor::reader::open(path, stable).value();
    std::vector<float> into(data.size(), 1.0F);
    // memcpy reads and writes as many bytes in all: what is read and what is written, halved.
    const std::size_t traffic = data.size() * (sizeof(T) + sizeof(float)) / 2;
    std::vector<std::byte> from(traffic, std::byte{1});
    const auto times = medians(rounds, {[&] { model.read_as_into("w", ztensor::span<float>(into)).value(); },
                                        [&] {
                                            std::memcpy(into.data(), from.data(), traffic);
                                            keep(static_cast<std::size_t>(into[traffic / 8] != 0));
                                        },
                                        [&] { keep(model.read_as<float>("w").value().size()); },
                                        [&] { promised.read_as_into("w", ztensor::span<float>(into)).value(); },
                                        [&] { keep(promised.read_as<float>("w").value().size()); }});
    print_row(label, "memcpy of that traffic", times[0], times[1], goal);
    print_row("the same, stable_file()", "memcpy of that traffic", times[3], times[1], goal);
    if (owned_label != nullptr) {
        print_row(owned_label, "memcpy of that traffic", times[2], times[1], 0.5);
        print_row("the same, stable_file()", "memcpy of that traffic", times[4], times[1], 0.5);
    }
}

/// Those ranges of a file, read in pieces that the cache keeps.
void digest_by_pread([[maybe_unused]] int handle,
                     [[maybe_unused]] const std::vector<std::pair<std::size_t, std::size_t>>& blobs,
                     [[maybe_unused]] bool is_crc) {
    [[maybe_unused]] const auto for_each_piece = [&](std::size_t begin, std::size_t size, const auto& take) {
        static std::vector<unsigned char> piece(mebibyte / 4, 1);
        for (std::size_t at = 0; at < size; at += piece.size()) {
            const std::size_t some = std::min(piece.size(), size - at);
            check(::pread(handle, piece.data(), some, static_cast<off_t>(begin + at)) == static_cast<ssize_t>(some));
            take(piece.data(), some);
        }
    };
#if ZTENSOR_BENCH_HAS_ISAL
    for (std::size_t i = 0; is_crc && i < blobs.size(); ++i) {
        unsigned sum = 0;
        for_each_piece(blobs[i].first, blobs[i].second, [&](unsigned char* bytes, std::size_t size) {
            sum = crc32_iscsi(bytes, static_cast<int>(size), sum);
        });
        keep(sum);
        ztensor::detail::zero_upper_halves(ztensor::detail::host_cpu());
    }
#endif
#if ZTENSOR_BENCH_HAS_OPENSSL
    for (std::size_t i = 0; !is_crc && i < blobs.size(); ++i) {
        const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
        unsigned char digest[32];
        check(EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) == 1);
        for_each_piece(blobs[i].first, blobs[i].second, [&](unsigned char* bytes, std::size_t size) {
            check(EVP_DigestUpdate(hash.get(), bytes, size) == 1);
        });
        check(EVP_DigestFinal_ex(hash.get(), digest, nullptr) == 1);
        keep(digest[0]);
    }
#endif
}

void verifying(const std::vector<float>& data) {
    for (const ztensor::digest algorithm : {ztensor::digest::crc32c, ztensor::digest::sha256}) {
        const bool is_crc = algorithm == ztensor::digest::crc32c;
        const std::string path = in_folder(is_crc ? "crc.zt" : "sha.zt");
        constexpr std::size_t tensors = 64;
        const std::size_t each = data.size() / tensors;
        {
            auto out = ztensor::writer::create(path).value();
            for (std::size_t i = 0; i < tensors; ++i) {
                out.add("t" + std::to_string(i), {each}, ztensor::span<const float>(data.data() + i * each, each),
                        ztensor::store().digest(algorithm))
                    .value();
            }
            out.finish().value();
        }
        const auto model = ztensor::reader::open(path, by_default).value();
        const auto promised = ztensor::reader::open(path, stable).value();
        const work rival = [&] {
            for (std::size_t i = 0; i < tensors; ++i) {
                const auto view = model.view<float>("t" + std::to_string(i)).value();
                [[maybe_unused]] void* const bytes = const_cast<float*>(view.data());
                [[maybe_unused]] const std::size_t size = view.size() * sizeof(float);
#if ZTENSOR_BENCH_HAS_ISAL
                if (is_crc) {
                    for (std::size_t at = 0; at < size; at += mebibyte) {
                        keep(crc32_iscsi(static_cast<unsigned char*>(bytes) + at,
                                         static_cast<int>(std::min(mebibyte, size - at)), 0));
                    }
                    // It leaves wide registers in use: on this thread OpenSSL's SHA-256 would take a third longer.
                    ztensor::detail::zero_upper_halves(ztensor::detail::host_cpu());
                }
#endif
#if ZTENSOR_BENCH_HAS_OPENSSL
                if (!is_crc) {
                    unsigned char digest[32];
                    check(EVP_Digest(bytes, size, digest, nullptr, EVP_sha256(), nullptr) == 1);
                    keep(digest[0]);
                }
#endif
            }
        };
        const int handle = ::open(path.c_str(), O_RDONLY);
        std::vector<std::pair<std::size_t, std::size_t>> blobs;
        for (const auto object : model) {
            const auto blob = *object.begin();
            blobs.emplace_back(static_cast<std::size_t>(blob.offset()), static_cast<std::size_t>(blob.stored_bytes()));
        }
        const work reading_rival = [&] { digest_by_pread(handle, blobs, is_crc); };
        const auto times = medians(rounds, {[&] { keep(model.verify(1).value().verified); },
                                            [&] { keep(model.verify(2).value().verified); },
                                            [&] { keep(promised.verify(1).value().verified); },
                                            [&] { keep(promised.verify(2).value().verified); }, rival, reading_rival});
        ::close(handle);
        if (is_crc ? ZTENSOR_BENCH_HAS_ISAL : ZTENSOR_BENCH_HAS_OPENSSL) {
            print_row(is_crc ? "verify crc32c, 1 thread" : "verify sha256, 1 thread",
                      is_crc ? "pread + isa-l" : "pread + OpenSSL", times[0], times[5], is_crc ? 0.95 : 0.97);
            print_row("the same, stable_file()", is_crc ? "isa-l" : "OpenSSL", times[2], times[4],
                      is_crc ? 0.95 : 0.97);
        }
        print_row(is_crc ? "verify crc32c, 2 threads" : "verify sha256, 2 threads", "1 thread", times[1], times[0],
                  1.8);
        print_row("the same, stable_file()", "1 thread", times[3], times[2], 1.8);
    }
}

void write_file(const std::string& path, const void* data, std::size_t size, bool reserves, bool syncs) {
    const int handle = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
#if defined(__linux__)
    if (reserves) {
        static_cast<void>(::fallocate(handle, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size)));
    }
#endif
    const auto* at = static_cast<const char*>(data);
    for (std::size_t done = 0; done < size; done += mebibyte) {
        const std::size_t piece = std::min(mebibyte, size - done);
        check(::write(handle, at + done, piece) == static_cast<ssize_t>(piece));
    }
    check(!syncs || ::fsync(handle) == 0);
    ::close(handle);
}

/// And all that waits for the disk is on it: nothing of a file before may stand in an operation's way.
void remove_all(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        ::unlink(path.c_str());
    }
    ::sync();
}

void writing(const std::vector<float>& data) {
    const std::string path = in_folder("written.zt"), other = in_folder("written.raw");
    const std::size_t bytes = data.size() * sizeof(float);
    const work remove_both = [&] { remove_all({path, other}); };
    const auto write = [&](bool syncs, std::size_t each, const ztensor::store& how) {
        auto out = ztensor::writer::create(path, ztensor::write_options().sync(syncs)).value();
        for (std::size_t at = 0; at < data.size(); at += each) {
            const std::size_t count = std::min(each, data.size() - at);
            out.add("t" + std::to_string(at), {count}, ztensor::span<const float>(data.data() + at, count), how)
                .value();
        }
        out.finish().value();
    };
    const std::size_t large = data.size() / 8;
    const std::size_t small = 2550; // 10,200 bytes
    const auto times =
        medians(rounds,
                {[&] { write(false, large, {}); }, [&] { write_file(other, data.data(), bytes, true, false); },
                 [&] { write(true, large, {}); }, [&] { write_file(other, data.data(), bytes, false, true); },
                 [&] { write(false, small, {}); }, [&] { write_file(other, data.data(), bytes, false, false); },
                 [&] { write(false, large, ztensor::store().digest(ztensor::digest::crc32c)); }},
                remove_both);
    print_row("write large tensors, unsynced", "fallocate + write of 1 MiB", times[0], times[1], 0.97);
    print_row("write large tensors, durable", "write + fsync", times[2], times[3], 1.3);
    print_row("write tensors of 10 KB", "write of 1 MiB", times[4], times[5], 0.90);
    print_row("write with crc32c", "write without", times[6], times[0], 0.88);
}

void compressing(const std::vector<float>& data) {
    const std::size_t bytes = data.size() * sizeof(float);
    const std::string path = in_folder("packed.zt"), other = in_folder("packed.raw");
    const auto write = [&](unsigned threads) {
        auto out = ztensor::writer::create(path, ztensor::write_options().sync(false).threads(threads)).value();
        out.add("w", {data.size()}, data, ztensor::store().zstd(1)).value();
        out.finish().value();
    };
    const work remove_both = [&] { remove_all({path, other}); };
    const auto write_to_memory = [&] {
        auto out = ztensor::writer::to_memory(ztensor::write_options().threads(1)).value();
        out.add("w", {data.size()}, data, ztensor::store().zstd(1)).value();
        out.finish().value();
        keep(out.take_bytes().size());
    };
    std::vector<std::byte> packed(ZSTD_compressBound(bytes), std::byte{1});
    std::size_t packed_bytes = 0;
    const work compress = [&] { packed_bytes = ZSTD_compress(packed.data(), packed.size(), data.data(), bytes, 1); };
    const auto written = medians(rounds,
                                 {[&] { write(2); }, [&] { write(1); }, compress, write_to_memory,
                                  [&] {
                                      compress();
                                      write_file(other, packed.data(), packed_bytes, false, false);
                                  }},
                                 remove_both);
    write(2);
    print_row("write zstd, 2 threads", "ZSTD_compress, 1 thread", written[0], written[2], 1.85);
    print_row("write zstd, 1 thread", "ZSTD_compress", written[1], written[2], 0.97);
    print_row("write zstd into memory, 1 thread", "ZSTD_compress", written[3], written[2], 0.97);
    print_row("write zstd, 1 thread", "ZSTD_compress + write of 1 MiB", written[1], written[4], 0.97);

    std::vector<float> into(data.size(), 1.0F);
    const auto by_two = ztensor::reader::open(path, ztensor::read_options().threads(2)).value();
    const auto by_one = ztensor::reader::open(path, ztensor::read_options().threads(1)).value();
    const auto promised_two = ztensor::reader::open(path, ztensor::read_options(stable).threads(2)).value();
    const auto promised_one = ztensor::reader::open(path, ztensor::read_options(stable).threads(1)).value();
    const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
    const int handle = ::open(path.c_str(), O_RDONLY);
    const auto blob = *by_one.find("w")->begin();
    const auto blob_bytes = static_cast<std::size_t>(blob.stored_bytes());
    std::vector<std::byte> stored(blob_bytes, std::byte{1});
    const auto decode = [&](const std::byte* from, std::size_t size) {
        keep(ZSTD_decompressDCtx(context.get(), into.data(), bytes, from, size));
    };
    const auto read = medians(
        rounds,
        {[&] { by_two.read_into("w", into).value(); }, [&] { by_one.read_into("w", into).value(); },
         [&] { decode(packed.data(), packed_bytes); },
         [&] {
             pread_all(handle, stored.data(), blob_bytes, static_cast<std::size_t>(blob.offset()), mebibyte);
             decode(stored.data(), blob_bytes);
         },
         [&] { promised_two.read_into("w", into).value(); }, [&] { promised_one.read_into("w", into).value(); }});
    ::close(handle);
    print_row("read zstd, 2 threads", "ZSTD_decompressDCtx, 1 thread", read[0], read[2], 1.85);
    print_row("read zstd, 1 thread", "ZSTD_decompressDCtx", read[1], read[2], 0.97);
    print_row("read zstd, 1 thread", "pread + ZSTD_decompressDCtx", read[1], read[3], 0.97);
    print_row("read zstd, stable_file(), 2 threads", "ZSTD_decompressDCtx, 1 thread", read[4], read[2], 1.85);
    print_row("read zstd, stable_file(), 1 thread", "ZSTD_decompressDCtx", read[5], read[2], 0.97);

    constexpr std::size_t tiny = 256, count = 20000;
    const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> encoder(ZSTD_createCCtx(), &ZSTD_freeCCtx);
    const auto small = medians(
        rounds, {[&] {
                     auto out = ztensor::writer::to_memory().value();
                     for (std::size_t i = 0; i < count; ++i) {
                         out.add("t" + std::to_string(i), {tiny},
                                 ztensor::span<const float>(data.data() + i * tiny, tiny), ztensor::store().zstd(1))
                             .value();
                     }
                     out.finish().value();
                     keep(out.take_bytes().size());
                 },
                 [&] {
                     for (std::size_t i = 0; i < count; ++i) {
                         keep(ZSTD_compressCCtx(encoder.get(), packed.data(), packed.size(), data.data() + i * tiny,
                                                tiny * 4, 1));
                     }
                 },
                 [&] {
                     std::vector<std::byte> all;
                     for (std::size_t i = 0; i < count; ++i) {
                         const std::size_t size = ZSTD_compressCCtx(encoder.get(), packed.data(), packed.size(),
                                                                    data.data() + i * tiny, tiny * 4, 1);
                         all.insert(all.end(), packed.data(), packed.data() + size);
                     }
                     keep(all.size());
                 }});
    print_row("write zstd tensors of 1 KiB", "a kept ZSTD_CCtx", small[0], small[1], 0.9);
    print_row("write zstd tensors of 1 KiB", "a kept ZSTD_CCtx, all kept", small[0], small[2], 0.9);
}

void copying() {
    const std::string from = in_folder("gibibyte.zt"), to = in_folder("copied.zt"), by_cp = in_folder("copied.raw");
    {
        const std::vector<float> data = weights(std::size_t{64} * mebibyte);
        auto out = ztensor::writer::create(from).value();
        for (const char* name : {"a", "b", "c", "d"}) {
            out.add(name, {data.size()}, data).value();
        }
        out.finish().value();
    }
    const std::string command = "cp '" + from + "' '" + by_cp + "'";
    const auto times =
        medians(std::min(rounds, 5), {[&] {
                                          ::unlink(to.c_str());
                                          const auto model = ztensor::reader::open(from).value();
                                          auto out =
                                              ztensor::writer::create(to, ztensor::write_options().sync(false)).value();
                                          ztensor::copy(model, out).value();
                                          out.finish().value();
                                      },
                                      [&] {
                                          ::unlink(by_cp.c_str());
                                          check(std::system(command.c_str()) == 0);
                                      }});
    print_row("copy of 1 GiB", "cp", times[0], times[1], 1 / 1.05);
}

} // namespace

int main(int argc, char** argv) {
    folder = argc > 1 ? std::filesystem::path(argv[1]) : std::filesystem::temp_directory_path() / "ztensor-bench";
    rounds = argc > 2 ? std::atoi(argv[2]) : rounds;
    std::filesystem::create_directories(folder);
    const auto is_asked_for = [&](std::string_view group) {
        return argc <= 3 || std::find(argv + 3, argv + argc, group) != argv + argc;
    };
    bench::print_head();
    if (is_asked_for("opening")) {
        opening();
    }
    {
        const std::vector<float> data = weights(std::size_t{64} * mebibyte); // 256 MiB, more than any cache holds
        if (is_asked_for("reading")) {
            reading(data);
        }
        if (is_asked_for("verifying")) {
            verifying(data);
        }
        if (is_asked_for("writing")) {
            writing(data);
        }
    }
    {
        const std::vector<float> data = weights(std::size_t{16} * mebibyte);
        if (is_asked_for("converting")) {
            converting<ztensor::bfloat16>("read_as_into, bf16 to float", "read_as<float>, bf16", data, 0.85);
            converting<ztensor::float16>("read_as_into, f16 to float", nullptr, data, 0.85);
            converting<ztensor::float8_e4m3fn>("read_as_into, f8 to float", nullptr, data, 0.5);
        }
        if (is_asked_for("compressing")) {
            compressing(data);
        }
    }
    if (is_asked_for("copying")) {
        copying();
    }
}
