// SPDX-License-Identifier: MIT
//
// Files that are read past the system's cache, forgotten behind the reader, or not local.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/faulty_os.hpp"
#include "support/golden.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/read_ahead.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/import.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace {

using support::temp_dir;
using ztensor::errc;
using ztensor::io_mode;
using ztensor::read_options;
using ztensor::reader;

/// Every decoded component, by name and role.
std::vector<std::pair<std::string, std::vector<std::byte>>> content_of(const reader& file) {
    std::vector<std::pair<std::string, std::vector<std::byte>>> all;
    for (const ztensor::object_view object : file) {
        for (const ztensor::component_view component : object) {
            auto decoded = component.read<std::byte>();
            all.emplace_back(std::string(object.name()) + "/" + std::string(component.role()),
                             decoded ? *std::move(decoded) : std::vector<std::byte>());
        }
    }
    return all;
}

std::vector<float> rising_floats(std::size_t count) {
    std::vector<float> made(count);
    std::iota(made.begin(), made.end(), 0.0f);
    return made;
}

/// Tensors of odd sizes, "0", "1" and so on.
void write_odd(const std::filesystem::path& path) {
    ztensor::writer to = ztensor::writer::create(path).value();
    for (std::size_t i = 0; i < 40; ++i) {
        const std::size_t count = i * i * 377 + i;
        REQUIRE(to.add(std::to_string(i), {count}, rising_floats(count)));
    }
    REQUIRE(to.finish());
}

/// All tensors by a plan, as they were written.
void check_plan(const reader& file) {
    std::vector<std::string> names;
    std::vector<std::vector<float>> loaded;
    for (std::size_t i = 0; i < 40; ++i) {
        names.push_back(std::to_string(i));
        loaded.emplace_back(i * i * 377 + i);
    }
    ztensor::load_plan plan(file);
    for (std::size_t i = 0; i < 40; ++i) {
        plan.add(names[i], loaded[i]);
    }
    REQUIRE(plan.run());
    for (const std::vector<float>& each : loaded) {
        CHECK(each == rising_floats(each.size()));
    }
}

/// A file system far away.
class remote_os final : public support::faulty_os {
public:
    [[nodiscard]] bool is_remote(ztensor::detail::os_handle) noexcept override { return true; }
};

} // namespace

TEST_CASE("what is read past the cache, and what is forgotten behind the reader, is what others read") {
    const temp_dir directory;
    write_odd(directory / "odd.zt");
    std::vector<std::filesystem::path> paths = support::golden_paths();
    paths.push_back(directory / "odd.zt");
    for (const std::filesystem::path& path : paths) {
        CAPTURE(path);
        const auto plain = reader::open(path);
        for (const read_options& options :
             {read_options().direct(), read_options().drop_behind(), read_options().direct().drop_behind().threads(1),
              read_options().drop_behind().mode(io_mode::mapped)}) {
            const auto file = reader::open(path, options);
            REQUIRE(file.has_value() == plain.has_value());
            if (file) {
                CHECK(content_of(*file) == content_of(*plain));
            }
        }
    }
    const reader direct = reader::open(directory / "odd.zt", read_options().direct()).value();
    CHECK_FALSE(direct.is_mapped());
    CHECK(direct["7"].view<float>().error().code() == errc::not_viewable);
    check_plan(direct);
    check_plan(reader::open(directory / "odd.zt", read_options().drop_behind()).value());
}

TEST_CASE("a file that becomes shorter while it is read past the cache is one that changed") {
    const temp_dir directory;
    write_odd(directory / "odd.zt");
    const reader file = reader::open(directory / "odd.zt", read_options().direct()).value();
    std::filesystem::resize_file(directory / "odd.zt", 100000);
    CHECK(file["39"].read<float>().error().code() == errc::file_changed);
    CHECK(file["5"].read<float>().value() == rising_floats(25 * 377 + 5));
}

namespace {

/// A file system whose files are never in the cache, and that fails at some byte.
class cold_os final : public support::faulty_os {
public:
    [[nodiscard]] bool is_uncached(ztensor::detail::os_handle, std::uint64_t) noexcept override { return is_cold; }
    ztensor::detail::os_answer<std::size_t> read(ztensor::detail::os_handle file, std::uint64_t offset,
                                                 ztensor::span<std::byte> to) override {
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // as a disk
        const std::lock_guard<std::mutex> lock(mutex_);            // the double itself is for one thread
        threads.insert(std::this_thread::get_id());
        if (offset <= fails_at && fails_at < offset + to.size()) {
            return {0, std::make_error_code(std::errc::io_error)};
        }
        return faulty_os::read(file, offset, to);
    }

    bool is_cold = true;
    std::uint64_t fails_at = support::largest;
    std::set<std::thread::id> threads;

private:
    std::mutex mutex_;
};

} // namespace

TEST_CASE("large tensors that the cache has lost are read by many threads at once, and others as before") {
    const temp_dir directory;
    constexpr std::size_t count = std::size_t{8} << 20;
    for (const ztensor::digest digest : {ztensor::digest::none, ztensor::digest::sha256}) {
        const std::filesystem::path path = directory / "cold.zt";
        ztensor::writer to = ztensor::writer::create(path).value();
        REQUIRE(to.add("w", {count}, rising_floats(count), ztensor::store().digest(digest)));
        REQUIRE(to.finish());
        cold_os os;
        for (const bool is_cold : {true, false}) {
            os.is_cold = is_cold;
            const auto source = ztensor::detail::open_source(path, read_options(), os).value();
            const reader file = reader::from_source(source).value();
            os.threads.clear();
            CHECK(file["w"].read<float>().value() == rising_floats(count));
            CHECK((os.threads.size() > 1) == is_cold);
            os.threads.clear();
            std::vector<float> loaded(count);
            REQUIRE(ztensor::load_plan(file).add("w", loaded).run());
            CHECK(loaded == rising_floats(count));
            os.threads.clear(); // a share of bounded memory must not depend on what the cache holds
            REQUIRE(ztensor::load_plan(file).add("w", loaded).run(ztensor::load_options().max_staging_bytes(count)));
            CHECK(os.threads.size() <= std::thread::hardware_concurrency());
            const reader alone = reader::from_source(source, read_options().threads(1)).value();
            os.threads.clear();
            CHECK(alone["w"].read<float>().value() == loaded);
            CHECK(os.threads.size() == 1);
        }
        os.is_cold = true;
        const reader file = reader::from_source(ztensor::detail::open_source(path, read_options(), os).value()).value();
        os.fails_at = file["w"].data().value().offset() + 20000000;
        const auto failed = file["w"].read<float>();
        REQUIRE_FALSE(failed);
        CHECK(failed.error().code() == errc::io_error);
    }
}

TEST_CASE("a file on another machine is not mapped unless that is asked for, and read by many requests at once") {
    const temp_dir directory;
    write_odd(directory / "odd.zt");
    remote_os os;
    for (const io_mode mode : {io_mode::automatic, io_mode::positional, io_mode::mapped}) {
        const read_options options = read_options().mode(mode);
        const auto source = ztensor::detail::open_source(directory / "odd.zt", options, os).value();
        const auto read = ztensor::detail::with_read_ahead(source, options);
        CHECK((read->mapped().empty()) == (mode != io_mode::mapped));
        CHECK((read == source) == (mode == io_mode::mapped));
        const reader file = reader::from_source(read, options).value();
        CHECK(file["7"].view<float>().has_value() == (mode == io_mode::mapped));
        check_plan(file);
    }
    const auto local = ztensor::detail::open_source(directory / "odd.zt", read_options()).value();
    CHECK(ztensor::detail::with_read_ahead(local, read_options()) == local);
}

#if defined(__linux__)
namespace {

/// How many pages of the file the cache holds.
std::size_t cached_pages(const std::filesystem::path& path) {
    const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const auto size = static_cast<std::size_t>(std::filesystem::file_size(path));
    void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, handle, 0);
    std::vector<unsigned char> pages((size + 4095) / 4096);
    const bool is_told = ::mincore(mapped, size, pages.data()) == 0;
    ::munmap(mapped, size);
    ::close(handle);
    REQUIRE(is_told);
    std::size_t count = 0;
    for (const unsigned char each : pages) {
        count += each & 1u;
    }
    return count;
}

/// Out of the cache, if the file system has one to leave.
bool forget(const std::filesystem::path& path) {
    const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ::fsync(handle);
    ::posix_fadvise(handle, 0, 0, POSIX_FADV_DONTNEED);
    ::close(handle);
    return cached_pages(path) == 0;
}

} // namespace

TEST_CASE("reading past the cache leaves it empty, and reading with drop_behind() nearly") {
    const temp_dir directory;
    const std::filesystem::path path = directory / "large.zt";
    ztensor::writer to = ztensor::writer::create(path).value();
    REQUIRE(to.add("w", {std::size_t{4} << 20}, rising_floats(std::size_t{4} << 20)));
    REQUIRE(to.finish());
    if (!forget(path)) {
        WARN("skipped: the file system of the tests' folder keeps its files in memory");
        return;
    }
    for (const bool is_direct : {true, false}) {
        const read_options options = is_direct ? read_options().direct() : read_options().drop_behind();
        const reader file = reader::open(path, options).value();
        CHECK(file["w"].read<float>().value() == rising_floats(std::size_t{4} << 20));
        std::vector<float> planned(std::size_t{4} << 20);
        REQUIRE(ztensor::load_plan(file).add("w", planned).run());
        CHECK(cached_pages(path) < 1024); // of 4,096; what is read ahead by the system comes again
        REQUIRE(forget(path));
    }
    const reader plain = reader::open(path).value();
    CHECK(plain["w"].read<float>().has_value());
    CHECK(cached_pages(path) > 4000);
}

TEST_CASE("of a model in many files each is read as the options say, however many are open") {
    const temp_dir directory;
    std::vector<std::filesystem::path> paths;
    const std::size_t large = std::size_t{4} << 20;
    for (std::size_t i = 0; i < 40; ++i) {
        paths.push_back(directory / (std::to_string(100 + i) + ".zt"));
        ztensor::writer to = ztensor::writer::create(paths.back()).value();
        const std::size_t count = i == 39 ? large : i;
        REQUIRE(to.add(std::to_string(i), {count}, rising_floats(count)));
        REQUIRE(to.finish());
    }
    const bool can_forget = forget(paths.back());
    if (!can_forget) {
        WARN("skipped in part: the file system of the tests' folder keeps its files in memory");
    }
    for (const bool is_direct : {true, false}) {
        const read_options options = is_direct ? read_options().direct() : read_options().drop_behind();
        const reader model = ztensor::open_any(paths, options).value();
        for (const reader& each : model.files()) {
            const auto& source = *ztensor::detail::reader_access::file_of(each).source;
            CHECK(ztensor::detail::source_access::is_far(source, 0, 0) == is_direct);
        }
        CHECK(model["39"].read<float>().value() == rising_floats(large));
        CHECK(model["38"].read<float>().value() == rising_floats(38));
        CAPTURE(is_direct);
        CHECK((can_forget ? cached_pages(paths.back()) : 0) < 2048); // of 4,096
        CHECK((!can_forget || forget(paths.back())));
    }
}
#endif
