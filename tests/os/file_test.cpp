// SPDX-License-Identifier: MIT
//
// Files against the real system, and against one that interrupts, cuts short and refuses.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/faulty_os.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#if defined(_WIN32)
#include <ztensor/detail/os/system.hpp>
#else
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#endif

namespace {

using support::as_string;
using support::bytes_of;
using support::faulty_os;
using support::read_file;
using support::temp_dir;
using support::write_file;
using ztensor::errc;
using ztensor::result;
namespace detail = ztensor::detail;

template <std::size_t N>
result<std::string> text_at(const detail::file& source, std::uint64_t offset) {
    std::array<std::byte, N> buffer = {};
    if (result<void> read = source.read_at(offset, buffer); !read) {
        return std::move(read).error();
    }
    return as_string(buffer);
}

constexpr std::uint32_t permissions_of_new_files = 0666;

result<detail::output_file> create_output(const temp_dir& directory, const std::filesystem::path& name,
                                          detail::os_calls& os = detail::operating_system()) {
    return detail::output_file::create(detail::directory::open(directory.path().native(), false, os).value(),
                                       name.native(), permissions_of_new_files);
}

} // namespace

TEST_CASE("a regular file opens with its size and reads at any place") {
    const temp_dir directory;
    write_file(directory / "f", "0123456789");
    const detail::file source = detail::file::open(directory / "f").value();
    CHECK(source.size_bytes() == 10);
    CHECK(text_at<3>(source, 4).value() == "456");
    CHECK(text_at<10>(source, 0).value() == "0123456789");
    CHECK(source.read_at(10, {}).has_value());
}

TEST_CASE("a path outside ASCII opens and is told in UTF-8") {
    const temp_dir directory;
    const std::filesystem::path path = directory / std::filesystem::path(u"mod\u00e9l-\u91cd\u307f.zt");
    write_file(path, "abc");
    CHECK(text_at<3>(detail::file::open(path).value(), 0).value() == "abc");
    CHECK(detail::path_text(path.filename().native()) == "mod\xc3\xa9l-\xe9\x87\x8d\xe3\x81\xbf.zt");
}

TEST_CASE("a file that is not there is not found") {
    const temp_dir directory;
    const result<detail::file> opened = detail::file::open(directory / "nothing");
    REQUIRE(!opened);
    CHECK(opened.error().code() == errc::file_not_found);
    CHECK(opened.error().os_error() == std::errc::no_such_file_or_directory);
}

TEST_CASE("a directory is not a regular file") {
    const temp_dir directory;
    const result<detail::file> opened = detail::file::open(directory.path());
    REQUIRE(!opened);
    CHECK(opened.error().code() == errc::not_regular_file);
    const result<detail::output_file> overwritten =
        detail::output_file::open(detail::directory::open(directory.path().parent_path().native(), false).value(),
                                  directory.path().filename().native());
    REQUIRE(!overwritten);
    CHECK(overwritten.error().code() == errc::not_regular_file);
}

#if !defined(_WIN32)

TEST_CASE("a FIFO is refused and does not block") {
    const temp_dir directory;
    const std::filesystem::path fifo = directory / "fifo";
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    CHECK(detail::file::open(fifo).error().code() == errc::not_regular_file);
    CHECK(detail::output_file::open(detail::directory::open(directory.path(), false).value(), fifo.filename())
              .error()
              .code() == errc::not_regular_file);
}

TEST_CASE("a device and a socket are refused") {
    CHECK(detail::file::open("/dev/null").error().code() == errc::not_regular_file);
    const temp_dir directory;
    ::sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string name = (directory / "s").native();
    REQUIRE(name.size() < sizeof address.sun_path);
    name.copy(address.sun_path, name.size());
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    REQUIRE(socket >= 0);
    const void* const generic = &address;
    REQUIRE(::bind(socket, static_cast<const ::sockaddr*>(generic), sizeof address) == 0);
    CHECK(detail::file::open(name).error().code() == errc::not_regular_file);
    ::close(socket);
}

TEST_CASE("a file that may not be read is an I/O error with the system's reason") {
    if (::geteuid() == 0) {
        WARN("skipped: root may read everything");
        return;
    }
    const temp_dir directory;
    write_file(directory / "secret", "abc");
    REQUIRE(::chmod((directory / "secret").c_str(), 0) == 0);
    const result<detail::file> opened = detail::file::open(directory / "secret");
    REQUIRE(!opened);
    CHECK(opened.error().code() == errc::io_error);
    CHECK(opened.error().os_error() == std::errc::permission_denied);
}

TEST_CASE("a path through a file is an I/O error with the system's reason") {
    const temp_dir directory;
    write_file(directory / "f", "abc");
    const result<detail::file> opened = detail::file::open(directory / "f/g");
    REQUIRE(!opened);
    CHECK(opened.error().code() == errc::io_error);
    CHECK(opened.error().os_error() == std::errc::not_a_directory);
}

TEST_CASE("children inherit no handle") {
    const temp_dir directory;
    write_file(directory / "f", "abc");
    detail::os_calls& os = detail::operating_system();
    const detail::os_directory in = os.open_directory(directory.path(), true).value;
    CHECK((::fcntl(in.handle, F_GETFD) & FD_CLOEXEC) != 0);
    const detail::os_answer<int> existing = os.open_existing(directory / "f");
    for (const detail::os_answer<int>& answer :
         {existing, os.open_in(in, "f", true), os.create_in(in, "g", permissions_of_new_files),
          os.create_unnamed_in(in, permissions_of_new_files), os.duplicate(existing.value)}) {
        if (answer.failure == std::errc::operation_not_supported) {
            continue; // no file without a name here
        }
        REQUIRE(!answer.failure);
        CHECK((::fcntl(answer.value, F_GETFD) & FD_CLOEXEC) != 0);
    }
    CHECK(!os.close(existing.value));
    os.leave_directory(in);
}

#else

TEST_CASE("a path through a file leads nowhere") {
    const temp_dir directory;
    write_file(directory / "f", "abc");
    CHECK(detail::file::open(directory / "f/g").error().code() == errc::file_not_found);
    CHECK(detail::file::open(L"NUL").error().code() == errc::not_regular_file);
    WARN("skipped: Windows has neither FIFOs and sockets with paths nor permissions that are numbers, and no fork");
}

#endif

TEST_CASE("failures while opening are reported and leak no handle") {
    const temp_dir directory;
    write_file(directory / "f", "abc");
    for (const char* const name : {"open_existing", "open_in", "create_in", "status of handle"}) {
        CAPTURE(name);
        faulty_os os;
        os.failing_name = name;
        const std::string_view failing = name;
        const detail::directory in = detail::directory::open(directory.path().native(), false, os).value();
        if (failing != "open_in" && failing != "create_in") {
            CHECK(detail::file::open(directory / "f", os).error().code() == errc::io_error);
        }
        if (failing != "open_existing" && failing != "create_in") {
            const auto opened = detail::output_file::open(in, std::filesystem::path("f").native());
            REQUIRE(!opened);
            CHECK(opened.error().os_error() == std::errc::io_error);
        }
        if (failing == "create_in") {
            CHECK(create_output(directory, "g", os).error().code() == errc::io_error);
        }
        CHECK(os.open_handles == 1); // the directory
        CHECK(read_file(directory / "f") == "abc");
    }
}

TEST_CASE("a read goes on after short reads and interruptions") {
    const temp_dir directory;
    write_file(directory / "f", "0123456789");
    faulty_os os;
    const detail::file source = detail::file::open(directory / "f", os).value();
    os.most_moved = 3;
    os.failing_name = "read";
    os.failing_times = 2;
    os.failure = std::make_error_code(std::errc::interrupted);
    CHECK(text_at<8>(source, 1).value() == "12345678");
    CHECK(os.count("read") == 2 + 3);
}

TEST_CASE("large reads are right wherever their target lies, and say where the file ended") {
    constexpr std::size_t most_bytes = (std::size_t{1} << 20) + 77;
    const temp_dir directory;
    std::string content(most_bytes + 100, '\0');
    std::uint32_t state = 1;
    for (char& each : content) {
        state = state * 1664525U + 1013904223U;
        each = static_cast<char>(state >> 24);
    }
    write_file(directory / "f", content);
    faulty_os os;
    const detail::file source = detail::file::open(directory / "f", os).value();
    constexpr std::size_t guard_bytes = 64;
    alignas(4096) static std::array<char, most_bytes + 2 * guard_bytes> memory;
    detail::cpu_features cpu;
    const auto read_behind = [&](std::size_t place, std::uint64_t offset, std::size_t size) {
        return source.read_at(offset, detail::as_writable_bytes(ztensor::span<char>(memory)).subspan(place, size), cpu);
    };
    const std::string guard(guard_bytes, '#');
    for (const std::size_t most_moved : {faulty_os::never, std::size_t{100000}}) {
        os.most_moved = most_moved;
        for (const std::size_t place :
             {std::size_t{0}, std::size_t{1}, std::size_t{16}, std::size_t{31}, guard_bytes}) {
            for (const std::size_t offset : {std::size_t{0}, std::size_t{64}, std::size_t{99}}) {
                for (const std::size_t size : {std::size_t{8} << 10, (std::size_t{512} << 10) + 1, most_bytes}) {
                    CAPTURE(most_moved, place, offset, size);
                    guard.copy(memory.data(), guard_bytes);
                    guard.copy(memory.data() + place + size, guard_bytes);
                    REQUIRE(read_behind(place, offset, size).has_value());
                    const std::string_view all(memory.data(), memory.size());
                    CHECK(all.substr(0, place) == guard.substr(0, place));
                    CHECK((all.substr(place, size) == std::string_view(content).substr(offset, size))); // not printed
                    CHECK(all.substr(place + size, guard_bytes) == guard);
                }
            }
        }
    }
    os.most_moved = faulty_os::never;
    for (const bool copies_evenly : {false, true}) { // where it does not, one read would be slow
        cpu.copies_evenly = copies_evenly;
        const std::size_t reads_before = os.count("read");
        REQUIRE(read_behind(16, 0, most_bytes).has_value());
        CHECK((os.count("read") - reads_before == 1) == copies_evenly);
        CHECK((std::string_view(memory.data() + 16, most_bytes) == std::string_view(content).substr(0, most_bytes)));
    }
    std::filesystem::resize_file(directory / "f", 700001);
    for (const std::size_t place : {std::size_t{1}, std::size_t{16}}) {
        cpu.copies_evenly = place == 1;
        const result<void> read = read_behind(place, 1, most_bytes);
        REQUIRE(!read);
        CHECK(read.error().code() == errc::file_changed);
        CHECK(read.error().offset() == std::uint64_t{700001});
    }
}

TEST_CASE("a failing read says where and why") {
    const temp_dir directory;
    write_file(directory / "f", "0123456789");
    faulty_os os;
    const detail::file source = detail::file::open(directory / "f", os).value();
    os.most_moved = 3;
    os.first_failing_call = os.calls.size() + 2;
    const result<std::string> read = text_at<9>(source, 1);
    REQUIRE(!read);
    CHECK(read.error().code() == errc::io_error);
    CHECK(read.error().os_error() == std::errc::io_error);
    CHECK(read.error().offset() == std::uint64_t{7});
}

TEST_CASE("a file that ends early has changed") {
    const temp_dir directory;
    write_file(directory / "f", "0123456789");
    const detail::file source = detail::file::open(directory / "f").value();
    CHECK(source.check_size().has_value());
    std::filesystem::resize_file(directory / "f", 4);
    const result<std::string> read = text_at<10>(source, 0);
    REQUIRE(!read);
    CHECK(read.error().code() == errc::file_changed);
    CHECK(read.error().offset() == std::uint64_t{4});
    CHECK(text_at<4>(source, 0).value() == "0123");
    CHECK(source.check_size().error().code() == errc::file_changed);
    std::filesystem::resize_file(directory / "f", 11); // somebody appends: what was there is still there
    CHECK(source.check_size().has_value());
}

TEST_CASE("a size that can't be asked for again is an I/O error") {
    const temp_dir directory;
    write_file(directory / "f", "abc");
    faulty_os os;
    const detail::file source = detail::file::open(directory / "f", os).value();
    os.failing_name = "status of handle";
    CHECK(source.check_size().error().code() == errc::io_error);
}

TEST_CASE("no offset of 64 bits is mistaken for another") {
    const temp_dir directory;
    write_file(directory / "f", "0123456789");
    const detail::file source = detail::file::open(directory / "f").value();
    for (const std::uint64_t offset :
         {std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + 1, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
        CAPTURE(offset);
        CHECK(text_at<1>(source, offset).error().code() == errc::file_changed);
    }
}

TEST_CASE("bytes beyond 4 GiB are found") {
    const temp_dir directory;
    constexpr std::uint64_t place = (std::uint64_t{5} << 30) + 1;
    {
        std::ofstream sparse(directory / "f", std::ios::binary);
        sparse.seekp(static_cast<std::streamoff>(place));
        sparse << "far";
        if (!sparse.flush()) {
            WARN("skipped: the file system has no large sparse files");
            return;
        }
    }
    const detail::file source = detail::file::open(directory / "f").value();
    CHECK(source.size_bytes() == place + 3);
    CHECK(text_at<3>(source, place).value() == "far");
}

TEST_CASE("a new file takes what is appended, in order") {
    const temp_dir directory;
    detail::output_file target = create_output(directory, "f").value();
    CHECK(target.append(bytes_of("one ")).has_value());
    CHECK(target.append({}).has_value());
    CHECK(target.append(bytes_of("two")).has_value());
    CHECK(target.sync().has_value());
    CHECK(target.close().has_value());
    CHECK(read_file(directory / "f") == "one two");
}

TEST_CASE("nothing that exists is created again") {
    const temp_dir directory;
    write_file(directory / "f", "abc");
    const result<detail::output_file> created = create_output(directory, "f");
    REQUIRE(!created);
    CHECK(created.error().os_error() == std::errc::file_exists);
    CHECK(read_file(directory / "f") == "abc");
}

TEST_CASE("an existing file is opened as it is, and written from where it is told") {
    const temp_dir directory;
    write_file(directory / "f", "0123456789");
    const detail::directory in = detail::directory::open(directory.path().native(), true).value();
    const detail::native_path name = std::filesystem::path("f").native();
    detail::output_file target = detail::output_file::open(in, name).value();
    CHECK(read_file(directory / "f") == "0123456789");
    CHECK(target.append(bytes_of("ab")).has_value());
    CHECK(target.seek(7).has_value());
    CHECK(target.append(bytes_of("x")).has_value());
    CHECK(target.truncate(9).has_value());
    CHECK(target.close().has_value());
    CHECK(read_file(directory / "f") == "ab23456x8");
    const detail::native_path nothing = std::filesystem::path("nothing").native();
    CHECK(detail::output_file::open(in, nothing).error().code() == errc::file_not_found);
    std::filesystem::create_directory(directory / "d");
    const detail::native_path folder = std::filesystem::path("d").native();
    CHECK(detail::output_file::open(in, folder).error().code() == errc::not_regular_file);
}

TEST_CASE("a file is locked until its last handle is closed") {
    const temp_dir directory;
    write_file(directory / "f", "abc");
    const detail::directory in = detail::directory::open(directory.path().native(), false).value();
    const detail::native_path name = std::filesystem::path("f").native();
    {
        detail::output_file first = detail::open_locked(in, name, true).value();
        CHECK(first.has_lock());
        CHECK(detail::open_locked(in, name, false).error().code() == errc::busy);
        const result<detail::output_file> second = first.duplicate();
        CHECK(first.close().has_value());
        CHECK((!second || detail::open_locked(in, name, false).error().code() == errc::busy));
    }
    CHECK(detail::open_locked(in, name, true).has_value());
}

TEST_CASE("where there are no locks, nothing is refused") {
    const temp_dir directory;
    write_file(directory / "f", "abc");
    faulty_os os;
    os.failing_name = "lock";
    os.failure = std::make_error_code(std::errc::no_lock_available);
    const detail::directory in = detail::directory::open(directory.path().native(), false, os).value();
    const detail::output_file file = detail::open_locked(in, std::filesystem::path("f").native(), true).value();
    CHECK(!file.has_lock());
}

TEST_CASE("a path with U+0000 is refused, where the system would cut it") {
    const temp_dir directory;
    write_file(directory / "a.zt", "abc");
    const detail::native_path cut = (directory / "a.zt").native() +
                                    detail::native_path(1, detail::native_path::value_type{}) +
                                    std::filesystem::path(".b").native();
    CHECK(detail::file::open(cut).error().code() == errc::invalid_argument);
    CHECK(detail::locate(cut, false, detail::operating_system()).error().code() == errc::invalid_argument);
}

TEST_CASE("a write goes on after short writes and interruptions") {
    const temp_dir directory;
    faulty_os os;
    detail::output_file target = create_output(directory, "f", os).value();
    os.most_moved = 3;
    os.failing_name = "write";
    os.failing_times = 2;
    os.failure = std::make_error_code(std::errc::interrupted);
    CHECK(target.append(bytes_of("0123456789")).has_value());
    CHECK(target.close().has_value());
    CHECK(read_file(directory / "f") == "0123456789");
    CHECK(os.count("write") == 2 + 4);
}

TEST_CASE("a write that makes no progress fails instead of going on for ever") {
    const temp_dir directory;
    faulty_os os;
    detail::output_file target = create_output(directory, "f", os).value();
    os.most_moved = 0;
    CHECK(target.append(bytes_of("abc")).error().code() == errc::io_error);
    CHECK(os.count("write") == 1);
}

TEST_CASE("more than a gigabyte moves in pieces below a gigabyte") {
    constexpr std::size_t size = (std::size_t{5} << 28) + 1; // never touched, so it takes no memory
    const std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[size]);
    if (!memory) {
        WARN("skipped: no room in the address space");
        return;
    }
    const temp_dir directory;
    write_file(directory / "f", "abc");
    faulty_os os;
    detail::output_file target = create_output(directory, "g", os).value();
    const detail::file source = detail::file::open(directory / "f", os).value();
    os.most_moved = 0;
    CHECK(!target.append(ztensor::bytes_view(memory.get(), size)));
    CHECK(os.largest_transfer_asked > 0);
    CHECK(os.largest_transfer_asked < (std::size_t{1} << 30));
    os.largest_transfer_asked = 0;
    CHECK(!source.read_at(0, ztensor::span<std::byte>(memory.get(), size)));
    CHECK(os.largest_transfer_asked > 0);
    CHECK(os.largest_transfer_asked < (std::size_t{1} << 30));
}

TEST_CASE("sync, close, truncate, seek and permissions report their failure") {
    const temp_dir directory;
    for (const char* const name : {"sync", "close", "truncate", "seek", "set_permissions"}) {
        CAPTURE(name);
        faulty_os os;
        const detail::directory in = detail::directory::open(directory.path().native(), false, os).value();
        detail::output_file target = create_output(directory, name, os).value();
        detail::file_status old = target.status().value();
        old.permissions ^= 0020u;
        os.failing_name = name;
        const std::string_view failing = name;
        const result<void> done = failing == "sync"       ? target.sync()
                                  : failing == "close"    ? target.close()
                                  : failing == "truncate" ? target.truncate(0)
                                  : failing == "seek"
                                      ? target.seek(0)
                                      : target.copy_metadata_from(old, in, std::filesystem::path(name).native());
        REQUIRE(!done);
        CHECK(done.error().code() == errc::io_error);
        CHECK(done.error().os_error() == std::errc::io_error);
        CHECK(os.count(name) == 1);
    }
}

TEST_CASE("a file is closed exactly once, whoever holds it last") {
    static_assert(!std::is_copy_constructible_v<detail::file> && !std::is_copy_assignable_v<detail::file>);
    const temp_dir directory;
    write_file(directory / "f", "abc");
    faulty_os os;
    {
        detail::file first = detail::file::open(directory / "f", os).value();
        detail::file second = detail::file::open(directory / "f", os).value();
        CHECK(os.open_handles == 2);
        second = std::move(first);
        CHECK(os.open_handles == 1);
        detail::file& same = second;
        second = std::move(same);
        CHECK(text_at<3>(second, 0).value() == "abc");
        const detail::file third = std::move(second);
        CHECK(os.open_handles == 1);
        CHECK(text_at<3>(third, 0).value() == "abc");
    }
    CHECK(os.open_handles == 0);
    CHECK(os.count("close") == 2);
}

TEST_CASE("a file to write to is closed exactly once, whoever holds it last") {
    using detail::output_file;
    static_assert(!std::is_copy_constructible_v<output_file> && !std::is_copy_assignable_v<output_file>);
    const temp_dir directory;
    faulty_os os;
    {
        output_file first = create_output(directory, "f", os).value();
        output_file second = create_output(directory, "g", os).value();
        CHECK(os.open_handles == 2);
        second = std::move(first);
        CHECK(os.open_handles == 1);
        output_file& same = second;
        second = std::move(same);
        CHECK(second.append(bytes_of("abc")).has_value());
        output_file third = std::move(second);
        CHECK(third.close().has_value());
        CHECK(os.open_handles == 0);
        CHECK(third.close().has_value());
    }
    CHECK(os.open_handles == 0);
    CHECK(os.count("close") == 2);
    CHECK(read_file(directory / "f") == "abc");
}

TEST_CASE("a mapping shows the file and outlives its handle") {
    const temp_dir directory;
    write_file(directory / "f", "0123456789");
    detail::mapping mapped;
    {
        const detail::file source = detail::file::open(directory / "f").value();
        mapped = source.map().value();
    }
    CHECK(as_string(mapped.bytes()) == "0123456789");
}

TEST_CASE("an empty file maps to nothing") {
    const temp_dir directory;
    write_file(directory / "f", "");
    faulty_os os;
    const detail::file source = detail::file::open(directory / "f", os).value();
    const result<detail::mapping> mapped = source.map();
    REQUIRE(mapped);
    CHECK(mapped->bytes().empty());
    CHECK(os.count("map") == 0);
}

TEST_CASE("what the system can't map is unmappable") {
    const temp_dir directory;
    write_file(directory / "f", "abc");
    faulty_os os;
    os.failing_name = "map";
    os.failure = std::make_error_code(std::errc::no_such_device);
    const detail::file source = detail::file::open(directory / "f", os).value();
    const result<detail::mapping> mapped = source.map();
    REQUIRE(!mapped);
    CHECK(mapped.error().code() == errc::unmappable);
    CHECK(mapped.error().os_error() == std::errc::no_such_device);
}

TEST_CASE("a file larger than the address space is unmappable") {
    if (sizeof(void*) > 4) {
        return; // no file system here holds one
    }
    const temp_dir directory;
    std::ofstream(directory / "f", std::ios::binary).seekp(std::streamoff{5} << 30) << 'x';
    const detail::file source = detail::file::open(directory / "f").value();
    REQUIRE(source.size_bytes() > (std::uint64_t{5} << 30));
    CHECK(source.map().error().code() == errc::unmappable);
}

TEST_CASE("a mapping is released exactly once, and before it takes another") {
    static_assert(!std::is_copy_constructible_v<detail::mapping> && !std::is_copy_assignable_v<detail::mapping>);
    const temp_dir directory;
    write_file(directory / "f", "abc");
    write_file(directory / "g", "defg");
    faulty_os os;
    {
        detail::mapping first = detail::file::open(directory / "f", os).value().map().value();
        detail::mapping second = detail::file::open(directory / "g", os).value().map().value();
        CHECK(os.open_mappings == 2);
        first = std::move(second);
        CHECK(os.open_mappings == 1);
        CHECK(as_string(first.bytes()) == "defg");
        detail::mapping& same = first;
        first = std::move(same);
        CHECK(as_string(first.bytes()) == "defg");
        const detail::mapping third = std::move(first);
        CHECK(os.open_mappings == 1);
        CHECK(as_string(third.bytes()) == "defg");
    }
    CHECK(os.open_mappings == 0);
    CHECK(os.open_handles == 0);
}

#if !defined(_WIN32)

TEST_CASE("links are followed to the file they mean, there or not") {
    const temp_dir directory;
    std::filesystem::create_directories(directory / "a/b");
    write_file(directory / "a/file", "abc");
    std::filesystem::create_symlink("../file", directory / "a/b/relative");
    std::filesystem::create_symlink(directory / "a/b/relative", directory / "absolute");
    std::filesystem::create_symlink("nowhere", directory / "dangling");
    std::filesystem::create_symlink("loop", directory / "loop");
    const std::string long_name(255, 'n');
    std::filesystem::create_symlink("./././././" + long_name, directory / "long");
    detail::os_calls& os = detail::operating_system();
    const auto reached = [&](const char* name) { return os.resolve_links(directory / name); };

    CHECK(std::filesystem::equivalent(reached("absolute").value, directory / "a/file"));
    CHECK(std::filesystem::equivalent(reached("a/b/relative").value, directory / "a/file"));
    CHECK(reached("a/file").value == (directory / "a/file").native());
    CHECK(reached("dangling").value == (directory / "nowhere").native());
    CHECK(reached("nothing").value == (directory / "nothing").native());
    CHECK(std::filesystem::path(reached("long").value).filename() == long_name);
    CHECK(reached("loop").failure == std::errc::too_many_symbolic_link_levels);
    CHECK(reached("a/file/x").failure == std::errc::not_a_directory);
}

#else

TEST_CASE("links are followed to the file they mean where anybody can make one") {
    WARN("skipped: on Windows symbolic links take a right that tests don't have");
}

#endif

#if defined(_WIN32)

TEST_CASE("a file that is read may be written to and deleted by others, one that is written may only be read") {
    const temp_dir directory;
    write_file(directory / "f", "abc");
    constexpr DWORD others = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    const auto others_may = [&](DWORD access, DWORD sharing) {
        const auto [handle, failure] = detail::open_handle((directory / "f").native(), access, sharing, OPEN_EXISTING);
        return !failure && ::CloseHandle(handle);
    };
    {
        const detail::file source = detail::file::open(directory / "f").value();
        CHECK(others_may(GENERIC_READ, others));
        CHECK(others_may(GENERIC_WRITE, others));
        CHECK(others_may(DELETE, others));
        CHECK_FALSE(others_may(GENERIC_READ, FILE_SHARE_WRITE)); // who wants to be the only reader
    }
    const detail::directory in = detail::directory::open(directory.path().native(), false).value();
    {
        const detail::output_file target = detail::output_file::open(in, std::filesystem::path("f").native()).value();
        CHECK(detail::file::open(directory / "f").has_value());
        CHECK(others_may(DELETE, others));
        CHECK_FALSE(others_may(GENERIC_WRITE, others));
        CHECK_FALSE(others_may(GENERIC_READ, FILE_SHARE_READ)); // who wants it to stay as it is
        CHECK(detail::output_file::open(in, std::filesystem::path("f").native()).error().code() == errc::busy);
    }
    const auto [alone, failure] = detail::open_handle((directory / "f").native(), GENERIC_READ, 0, OPEN_EXISTING);
    REQUIRE(!failure);
    const result<detail::file> refused = detail::file::open(directory / "f");
    CHECK(::CloseHandle(alone));
    REQUIRE(!refused);
    CHECK(refused.error().code() == errc::io_error);
    CHECK(refused.error().os_error() == std::errc::device_or_resource_busy);
    CHECK(detail::file::open(directory / "f").has_value());
}

TEST_CASE("an open file can be deleted, and is read to the end by those who have it open") {
    const temp_dir directory;
    write_file(directory / "f", "abc");
    const detail::file source = detail::file::open(directory / "f").value();
    CHECK(::DeleteFileW((directory / "f").c_str()));
    CHECK(text_at<3>(source, 0).value() == "abc");
}

#endif

TEST_CASE("a directory that is held means the same wherever the process goes, and whatever it is called by then") {
    const temp_dir directory;
    std::filesystem::create_directory(directory / "a");
    write_file(directory / "a/f", "abc");
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(directory / "a");
    result<detail::directory> here = detail::directory::open({}, true);
    std::filesystem::current_path(before);
    REQUIRE(here);
#if !defined(_WIN32)
    std::filesystem::rename(directory / "a", directory / "b");
#endif
    CHECK(here->status(std::filesystem::path("f").native()).value().size_bytes == 3);
    CHECK(here->status(std::filesystem::path("g").native()).value().kind == detail::file_kind::absent);
    CHECK(detail::operating_system().list(here->place()).value ==
          std::vector<detail::native_path>{std::filesystem::path("f").native()});
    CHECK(here->remove(std::filesystem::path("f").native()));
    CHECK(here->remove(std::filesystem::path("f").native())); // nothing there is tidy, too
}

TEST_CASE("a directory syncs, and one that is not there does not open") {
    const temp_dir directory;
    CHECK(!detail::directory::open(directory.path().native(), true).value().sync());
    const result<detail::directory> nothing = detail::directory::open((directory / "nothing").native(), true);
    REQUIRE(!nothing);
    CHECK(nothing.error().os_error() == std::errc::no_such_file_or_directory);
}

TEST_CASE("suffixes are 16 hexadecimal digits and don't repeat") {
    std::set<std::string> seen;
    for (int i = 0; i < 10000; ++i) {
        const std::string suffix = detail::sixteen_digits(detail::unique_number());
        REQUIRE(suffix.size() == 16);
        REQUIRE(suffix.find_first_not_of("0123456789abcdef") == std::string::npos);
        REQUIRE(seen.insert(suffix).second);
    }
}
