// SPDX-License-Identifier: MIT
//
// Reading where requests take time: a source with 20 ms to each answer, and files that the system's cache has lost.
// usage: waiting FOLDER [ROUNDS]; FOLDER gets 1.1 GB, on the disk that matters
#include "table.hpp"

#include <ztensor/ztensor.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

constexpr std::size_t mib = std::size_t{1} << 20;

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(1);
}

template <class T>
T must(ztensor::result<T> done) {
    if (!done) {
        give_up(done.error().what());
    }
    return *std::move(done);
}
void must(const ztensor::result<void>& done) {
    if (!done) {
        give_up(done.error().what());
    }
}

clock_type::duration in_seconds(double seconds) {
    return std::chrono::duration_cast<clock_type::duration>(std::chrono::duration<double>(seconds));
}

/// Content that each request gets after 20 ms at 200 MB/s, and all together at 3 GB/s. Asks for nothing: it is read as
/// sources are that say nothing of themselves.
class distant_source final : public ztensor::byte_source {
public:
    static constexpr double latency_seconds = 0.02, bytes_per_second = 200e6, all_bytes_per_second = 3e9;

    explicit distant_source(std::vector<std::byte> content) : content_(std::move(content)) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    ztensor::result<void> read_at(std::uint64_t offset, ztensor::span<std::byte> destination) const override {
        const auto bytes = static_cast<double>(destination.size());
        const clock_type::time_point now = clock_type::now();
        clock_type::time_point done = now + in_seconds(latency_seconds + bytes / bytes_per_second);
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            ++requests_;
            free_at_ = std::max(free_at_, now + in_seconds(latency_seconds)) + in_seconds(bytes / all_bytes_per_second);
            done = std::max(done, free_at_);
        }
        std::this_thread::sleep_until(done);
        std::memcpy(destination.data(), content_.data() + offset, destination.size());
        return {};
    }
    [[nodiscard]] ztensor::bytes_view content() const noexcept { return content_; }
    [[nodiscard]] std::size_t take_requests() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return std::exchange(requests_, 0);
    }

private:
    std::vector<std::byte> content_;
    mutable std::mutex mutex_;
    mutable clock_type::time_point free_at_{};
    mutable std::size_t requests_ = 0;
};

/// Noise that zstd makes a third of.
std::vector<float> weights(std::size_t count) {
    std::vector<float> made(count);
    std::uint32_t state = 1;
    for (float& each : made) {
        state = state * 1664525u + 1013904223u;
        each = static_cast<float>((state >> 20) & 255u);
    }
    return made;
}

void add_all(ztensor::writer& to, std::size_t count, std::size_t floats, const ztensor::store& how) {
    const std::vector<float> values = weights(floats);
    for (std::size_t i = 0; i < count; ++i) {
        must(to.add(std::to_string(i), {floats}, values, how));
    }
    must(to.finish());
}

void run_plan(const ztensor::reader& file, std::vector<std::vector<float>>& to, const ztensor::load_options& how = {}) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < to.size(); ++i) {
        names.push_back(std::to_string(i));
    }
    ztensor::load_plan plan(file);
    for (std::size_t i = 0; i < to.size(); ++i) {
        plan.add(names[i], to[i]);
    }
    must(plan.run(how));
}

/// Prints the median of some rounds, and each.
void print_row(const char* name, double bytes, std::vector<double> seconds, const std::string& more = {}) {
    std::printf("| %-34s | %5.2f |", name, bytes / bench::median(seconds) / 1e9);
    for (const double each : seconds) {
        std::printf(" %.2f", bytes / each / 1e9);
    }
    std::printf(" |%s\n", more.c_str());
}

void compare_distant(std::size_t rounds) {
    struct layout {
        const char* name;
        std::size_t count;
        bool is_zstd;
    };
    std::printf("512 MiB from a source with 20 ms to each answer, 200 MB/s for each and 3 GB/s for all requests\n\n"
                "| what | median, GB/s | rounds | requests\n| --- | ---: | --- | ---:\n");
    for (const layout& each : {layout{"one tensor", 1, false}, layout{"64 tensors", 64, false},
                               layout{"256 tensors", 256, false}, layout{"512 tensors", 512, false},
                               layout{"8,192 tensors", 8192, false}, layout{"one tensor, zstd", 1, true}}) {
        const std::size_t floats = 512 * mib / sizeof(float) / each.count;
        ztensor::writer to = must(ztensor::writer::to_memory());
        add_all(to, each.count, floats, each.is_zstd ? ztensor::store().zstd(1) : ztensor::store());
        const auto source = std::make_shared<distant_source>(std::move(to).take_bytes());
        std::vector<std::vector<float>> loaded(each.count, std::vector<float>(floats));
        std::vector<double> opening;
        ztensor::reader file;
        for (std::size_t i = 0; i < rounds; ++i) {
            opening.push_back(bench::seconds([&] { file = must(ztensor::reader::from_source(source)); }));
        }
        std::printf("| %s: opening, ms | %.0f | |\n", each.name, bench::median(opening) * 1e3);
        const auto row = [&](const std::string& name, const std::function<void()>& work) {
            std::vector<double> times;
            static_cast<void>(source->take_requests());
            for (std::size_t i = 0; i < rounds; ++i) {
                times.push_back(bench::seconds(work));
            }
            const std::size_t requests = source->take_requests() / rounds;
            print_row((std::string(each.name) + ": " + name).c_str(), static_cast<double>(512 * mib), times,
                      " " + std::to_string(requests));
        };
        row("plan", [&] { run_plan(file, loaded); });
        if (each.count == 1) {
            row("read_into()", [&] { must(file["0"].read_into(loaded[0])); });
            row("read()", [&] { bench::keep(must(file["0"].read<float>()).size()); });
            row("read_as<bfloat16>()", [&] { bench::keep(must(file["0"].read_as<ztensor::bfloat16>()).size()); });
            row("pieces", [&] {
                auto pieces = must(ztensor::component_pieces::open(must(file["0"].data())));
                for (auto piece = pieces.next(); !must(std::move(piece)).empty(); piece = pieces.next()) {
                }
            });
        }
        if (each.is_zstd) {
            const ztensor::reader near_by = must(ztensor::reader::from_bytes(source->content()));
            row("plan from memory (the decoder)", [&] { run_plan(near_by, loaded); });
        }
    }
}

/// Out of the system's cache.
void forget(const std::string& path) {
    const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ::fdatasync(handle);
    ::posix_fadvise(handle, 0, 0, POSIX_FADV_DONTNEED);
    ::close(handle);
}

/// All of a file by so many threads, in pieces of so many bytes.
void read_by_threads(const std::string& path, std::size_t threads, std::size_t piece_bytes, int flags, char* memory) {
    const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
    struct ::stat status = {};
    ::fstat(handle, &status);
    const auto size = (static_cast<std::size_t>(status.st_size) + 4095) / 4096 * 4096;
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < threads; ++i) {
        all.emplace_back([&] {
            for (std::size_t at = next.fetch_add(piece_bytes); at < size; at = next.fetch_add(piece_bytes)) {
                const std::size_t wanted = std::min(piece_bytes, size - at);
                if (::pread(handle, memory + at, wanted, static_cast<::off_t>(at)) < 0) {
                    give_up("can't read the file");
                }
            }
        });
    }
    for (std::thread& each : all) {
        each.join();
    }
    ::close(handle);
}

void compare_cold(const std::string& folder, std::size_t rounds) {
    const std::string path = folder + "/cold.zt";
    constexpr std::size_t count = 128, floats = 8 * mib / sizeof(float);
    ztensor::writer to = must(ztensor::writer::create(path));
    add_all(to, count, floats, {});
    std::vector<std::vector<float>> loaded(count, std::vector<float>(floats));
    const std::size_t room = count * 8 * mib + 8 * mib;
    const std::unique_ptr<char, decltype(&std::free)> memory(static_cast<char*>(std::aligned_alloc(4096, room)),
                                                             std::free);
    std::memset(memory.get(), 1, room);
    const auto plan = [&](const ztensor::read_options& how, const ztensor::load_options& by) {
        return [&, how, by] {
            const ztensor::reader file = must(ztensor::reader::open(path, how));
            run_plan(file, loaded, by);
        };
    };
    struct row {
        const char* name;
        std::function<void()> work;
        std::vector<double> times;
    };
    std::vector<row> rows = {
        {"plan", plan({}, {}), {}},
        {"plan, direct()", plan(ztensor::read_options().direct(), {}), {}},
        {"plan, 16 threads", plan({}, ztensor::load_options().threads(16)), {}},
        {"16 threads, pread, 8 MiB", [&] { read_by_threads(path, 16, 8 * mib, 0, memory.get()); }, {}},
        {"32 threads, O_DIRECT, 1 MiB", [&] { read_by_threads(path, 32, mib, O_DIRECT, memory.get()); }, {}},
    };
    for (std::size_t i = 0; i < rounds; ++i) {
        for (row& each : rows) {
            forget(path);
            each.times.push_back(bench::seconds(each.work));
        }
    }
    std::printf("\n1 GiB of 128 tensors from a file that the cache has lost\n\n"
                "| what | median, GB/s | rounds |\n| --- | ---: | --- |\n");
    for (const row& each : rows) {
        print_row(each.name, static_cast<double>(count * 8 * mib), each.times);
    }
    ::unlink(path.c_str());
}

} // namespace

int main(int count, char** arguments) {
    if (count < 2) {
        give_up("usage: waiting FOLDER [ROUNDS]");
    }
    const std::size_t rounds = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 9;
    compare_distant(rounds);
    compare_cold(arguments[1], rounds);
}
