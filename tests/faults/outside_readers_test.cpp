// SPDX-License-Identifier: MIT
//
// What another process sees of a file that is written, appended to, edited or recovered: at every call of the writer to
// the system it opens the file and reads all of it, without recovering first, and finds the old content, the new
// content, or an error.
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/faulty_os.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/write/editor.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/detail/write/old_file.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <unistd.h>

namespace {

namespace outside_readers {

using support::faulty_os;
using support::temp_dir;
using ztensor::errc;
using ztensor::format_version;
using ztensor::io_mode;
using ztensor::publish_mode;
using ztensor::reader;
using ztensor::result;
using ztensor::sync_level;
using ztensor::write_options;
using ztensor::writer;

using file_path = std::filesystem::path;
using content = std::map<std::string, std::string>; ///< type, shape and bytes of each part, by its name

// -- the other process

/// All of a file that is open; nothing if some of it can't be read.
std::optional<content> content_of(const reader& file) {
    content all;
    all[""] = file.attributes().text("source").value_or("");
    for (const ztensor::object_view object : file) {
        std::string shape = object.attributes().text("unit").value_or("");
        for (const std::uint64_t dimension : object.shape()) {
            shape += ' ' + std::to_string(dimension);
        }
        for (const ztensor::component_view part : object) {
            const auto bytes = part.read<std::byte>();
            if (!bytes) {
                return std::nullopt;
            }
            std::string& said = all[std::string(object.name()) + '/' + std::string(part.role())];
            said = std::string(part.dtype().text()) + shape + ':';
            said.append(reinterpret_cast<const char*>(bytes->data()), bytes->size());
        }
    }
    return all;
}

constexpr io_mode both_modes[] = {io_mode::mapped, io_mode::positional};

ztensor::read_options by(io_mode mode) {
    return ztensor::read_options().mode(mode).threads(1);
}

std::optional<content> content_at(const file_path& path, io_mode mode) {
    const result<reader> file = reader::open(path, by(mode));
    return file ? content_of(*file) : std::nullopt;
}

struct expectation {
    std::optional<content> before; ///< nothing where there is no file
    std::optional<content> after;
    bool is_extended = false; ///< a reader that has the old file open keeps it
};

/// "o", "n" or "e" for the old content, the new one or an error; else what is wrong.
std::string name_of(const std::optional<content>& seen, const expectation& expected) {
    if (!seen) {
        return "e";
    }
    if (seen == expected.after) {
        return "n";
    }
    return seen == expected.before ? "o" : "neither the old nor the new content";
}

/// A process that looks at a file when it is told to.
class onlooker {
public:
    onlooker(const file_path& path, const expectation& expected) {
        int asked[2] = {}, told[2] = {};
        REQUIRE((::pipe(asked) == 0 && ::pipe(told) == 0));
        process_ = ::fork();
        REQUIRE(process_ >= 0);
        if (process_ == 0) {
            ::close(asked[1]);
            ::close(told[0]);
            look_on(asked[0], told[1], path, expected);
            ::_exit(0);
        }
        ::close(asked[0]);
        ::close(told[1]);
        to_ = asked[1];
        from_ = told[0];
        static_cast<void>(look()); // it has what it holds open from here on
    }
    onlooker(const onlooker&) = delete;
    onlooker& operator=(const onlooker&) = delete;
    ~onlooker() {
        ::close(to_);
        ::close(from_);
        ::waitpid(process_, nullptr, 0);
    }

    /// What it sees now, as name_of().
    [[nodiscard]] std::string look() const {
        const char request = '?';
        char said[64] = {};
        const bool is_answered = ::write(to_, &request, 1) == 1 && ::read(from_, said, sizeof said) == sizeof said;
        return is_answered ? said : "the other process has died";
    }

private:
    static void look_on(int asked, int told, const file_path& path, const expectation& expected) {
        std::vector<reader> held;
        for (const io_mode mode : both_modes) {
            if (result<reader> file = reader::open(path, by(mode)); file && expected.is_extended) {
                held.push_back(*std::move(file));
            }
        }
        for (char request = 0; ::read(asked, &request, 1) == 1;) {
            std::string seen;
            for (const io_mode mode : both_modes) {
                const std::string now = name_of(content_at(path, mode), expected);
                seen = seen.empty() || seen == now ? now : "mapped not what it is by reads: " + seen + " and " + now;
            }
            for (const reader& each : held) {
                seen = content_of(each) == expected.before ? seen : "another content for a reader from before";
            }
            char said[64] = {};
            std::memcpy(said, seen.data(), std::min(seen.size(), sizeof said - 1));
            if (::write(told, said, sizeof said) != sizeof said) {
                return;
            }
        }
    }

    ::pid_t process_ = 0;
    int to_ = -1;
    int from_ = -1;
};

/// Looks before each call of a writer, and remembers what is wrong.
class watched_calls {
public:
    watched_calls(faulty_os& os, const onlooker& by) : os_(os), by_(by) {
        os_.before_each = [this](const std::string& name) { look(name); };
    }
    watched_calls(const watched_calls&) = delete;
    watched_calls& operator=(const watched_calls&) = delete;
    ~watched_calls() { os_.before_each = nullptr; }

    void look(const std::string& before_what) {
        const std::string now = by_.look();
        const bool goes_back = now == "o" && seen_.find('n') != std::string::npos;
        seen_ += now.substr(0, 1);
        if (wrong_.empty() && (now.size() != 1 || (goes_back && !may_go_back))) {
            wrong_ = "before call " + std::to_string(os_.calls.size()) + ", " + before_what + ": " + now;
        }
    }

    bool may_go_back = false; ///< where something fails, the new content may be taken back

    /// "" where nothing is.
    [[nodiscard]] const std::string& wrong() const { return wrong_; }
    /// A letter for each call.
    [[nodiscard]] const std::string& seen() const { return seen_; }

private:
    faulty_os& os_;
    const onlooker& by_;
    std::string wrong_;
    std::string seen_;
};

// -- files and changes

std::vector<std::uint8_t> some_bytes(std::size_t count, unsigned seed) {
    std::vector<std::uint8_t> bytes(count);
    for (std::size_t i = 0; i < count; ++i) {
        bytes[i] = static_cast<std::uint8_t>((i * 7 + seed * 31) % 251 + 1); // no zeros, which gaps hold
    }
    return bytes;
}

write_options options_of(format_version version, publish_mode publish) {
    const write_options options = write_options().version(version).publish(publish).threads(1);
    return version == format_version::v2 ? write_options(options).alignment_bytes(4096) : options;
}

/// A file of tensors "a" to "c", whose size is as much longer as `padding` is.
result<void> create_one(const file_path& path, const write_options& options, faulty_os& os, unsigned seed,
                        const std::string& padding = "", const std::vector<std::uint8_t>& embedded = {}) {
    result<std::unique_ptr<ztensor::byte_sink>> sink = ztensor::detail::create_sink(path, options, os);
    if (!sink) {
        return std::move(sink).error();
    }
    result<writer> out = writer::to_sink(*std::move(sink), options);
    if (!out) {
        return std::move(out).error();
    }
    const std::vector<float> floats = {1, 2, static_cast<float>(seed)};
    const bool is_0_1 = options.version() == format_version::v0_1;
    result<void> done =
        is_0_1 ? result<void>() : out->attributes(ztensor::attributes().set("source", "s" + padding));
    done = done ? out->add("a", {3}, floats) : std::move(done);
    done = done ? out->add("b", {40}, some_bytes(40, seed)) : std::move(done);
    done = done ? out->add("c" + (is_0_1 ? padding : ""), {embedded.size()}, embedded) : std::move(done);
    return done ? out->finish() : done;
}

/// One of a size that leaves that remainder.
void create_of_size(const file_path& path, format_version version, std::size_t modulus, std::size_t remainder) {
    std::size_t padding = 0;
    for (std::size_t tries = 0; tries < 8; ++tries) {
        std::filesystem::remove(path);
        faulty_os os;
        const write_options options = options_of(version, publish_mode::replace);
        create_one(path, write_options(options).sync(false), os, 1, std::string(padding, 'x')).value();
        const std::size_t is = static_cast<std::size_t>(std::filesystem::file_size(path)) % modulus;
        if (is == remainder) {
            return;
        }
        padding += (remainder + modulus - is) % modulus;
    }
    FAIL("no file of that size");
}

/// A change of the file at a path, by these calls.
using change = std::function<result<void>(const file_path& path, faulty_os& os)>;

change append_some(format_version version, publish_mode publish, std::vector<std::uint8_t> first = some_bytes(70, 9)) {
    return [=](const file_path& path, faulty_os& os) -> result<void> {
        result<writer> out = ztensor::detail::append_to(path, options_of(version, publish), os);
        if (!out) {
            return std::move(out).error();
        }
        result<void> done = out->add("n", {first.size()}, first);
        done = done ? out->add("o", {3}, std::vector<float>{7, 8, 9}) : std::move(done);
        return done ? out->finish() : done;
    };
}

change append_nothing(format_version version) {
    return [=](const file_path& path, faulty_os& os) -> result<void> {
        result<writer> out = ztensor::detail::append_to(path, options_of(version, publish_mode::in_place), os);
        return out ? out->finish() : std::move(out).error();
    };
}

change edit_some(format_version version, publish_mode publish, std::vector<std::uint8_t> first = some_bytes(5, 6)) {
    return [=](const file_path& path, faulty_os& os) -> result<void> {
        auto made = ztensor::detail::edit_by(path, options_of(version, publish), os);
        if (!made) {
            return std::move(made).error();
        }
        ztensor::editor edited = ztensor::detail::editor_access::make(made->release());
        result<void> done = edited.replace("a", {3}, std::vector<float>{7, 8, 9});
        done = done ? edited.rename("b", "d") : std::move(done);
        done = done ? edited.attributes("a", ztensor::attributes().set("unit", "m")) : std::move(done);
        done = done ? edited.add("e", {first.size()}, first) : std::move(done);
        return done ? edited.finish() : done;
    };
}

change create_again(format_version version, publish_mode publish, const std::vector<std::uint8_t>& embedded = {}) {
    return [=](const file_path& path, faulty_os& os) {
        return create_one(path, options_of(version, publish), os, 77, "", embedded);
    };
}

/// The bytes of a whole file of that version, whose tensors lie where others of the file around it do.
std::vector<std::uint8_t> whole_file(format_version version) {
    const temp_dir directory;
    faulty_os os;
    create_one(directory / "f", options_of(version, publish_mode::replace).sync(false), os, 200).value();
    const std::string bytes = support::read_file(directory / "f");
    return {bytes.begin(), bytes.end()};
}

/// What is expected of a change of a file with that content; "" is none.
expectation expected_of(const std::string& old_file, const change& what, bool is_extended = false) {
    const temp_dir directory;
    expectation expected;
    expected.is_extended = is_extended;
    if (!old_file.empty()) {
        support::write_file(directory / "f", old_file);
        expected.before = content_at(directory / "f", io_mode::positional);
        REQUIRE(expected.before);
    }
    faulty_os os;
    os.syncs = false;
    what(directory / "f", os).value();
    expected.after = content_at(directory / "f", io_mode::positional);
    REQUIRE(expected.after);
    return expected;
}

struct disturbance {
    std::size_t first_failing_call = faulty_os::never;
    std::size_t failing_calls = 1;
    std::size_t most_moved = faulty_os::never;
};

/// What another process sees of the change, call by call; what is wrong fails the test.
std::string seen_of(const std::string& old_file, const change& what, const expectation& expected,
                    const disturbance& how = {}) {
    const temp_dir directory;
    const file_path path = directory / "f";
    if (!old_file.empty()) {
        support::write_file(path, old_file);
    }
    const onlooker other(path, expected);
    faulty_os os;
    os.syncs = false;
    os.first_failing_call = how.first_failing_call;
    os.failing_calls = how.failing_calls;
    os.most_moved = how.most_moved;
    watched_calls watched(os, other);
    const bool fails = how.first_failing_call != faulty_os::never;
    watched.may_go_back = fails;
    const result<void> done = what(path, os);
    watched.look("the end");
    CAPTURE(how.first_failing_call, how.failing_calls, how.most_moved, watched.seen());
    CHECK(watched.wrong().empty());
    if (!watched.wrong().empty()) {
        WARN(watched.wrong());
    }
    CHECK((done || fails));
    if (done) {
        CHECK(watched.seen().back() == 'n');
    }
    if (how.failing_calls == faulty_os::never && !done) { // as if it had been killed there
        faulty_os after;
        after.syncs = false;
        watched_calls recovering(after, other);
        recovering.may_go_back = true;
        const auto recovered = ztensor::detail::recover_by(path, after);
        recovering.look("the end of recovering");
        CAPTURE(recovering.seen());
        CHECK(recovered);
        CHECK(recovering.wrong().empty());
        CHECK((recovering.seen().back() != 'e' || old_file.empty()));
    }
    return watched.seen();
}

/// The same, where each call in turn fails, and where the writer ends at each call and the file is recovered then.
void try_faults(const std::string& old_file, const change& what, const expectation& expected) {
    const std::size_t calls = seen_of(old_file, what, expected).size();
    for (std::size_t call = 0; call < calls; ++call) {
        seen_of(old_file, what, expected, {call, 1, faulty_os::never});
        seen_of(old_file, what, expected, {call, faulty_os::never, faulty_os::never});
    }
}

std::string old_file(format_version version, std::size_t remainder) {
    const temp_dir directory;
    create_of_size(directory / "f", version, version == format_version::v2 ? 4096 : 64, remainder);
    return support::read_file(directory / "f");
}

constexpr format_version all_versions[] = {format_version::v0_1, format_version::v1_1, format_version::v1_2,
                                           format_version::v2};

} // namespace outside_readers

} // namespace

TEST_CASE("another process never sees a wrong byte of a file that is appended to in place, whatever its old size") {
    using namespace outside_readers;
    if (!support::forks_beside_threads()) {
        return;
    }
    for (const format_version version : all_versions) {
        std::vector<std::size_t> remainders = {0, 1, 7, 8, 9, 30, 55, 56, 57, 60, 63};
        if (version == format_version::v1_2) {
            remainders.resize(64);
            std::generate(remainders.begin(), remainders.end(), [next = 0U]() mutable { return next++; });
        } else if (version == format_version::v2) {
            remainders = {0, 1, 5, 7, 8, 9, 57, 63, 64, 2048, 4087, 4088, 4089, 4090, 4091, 4092, 4093, 4094, 4095};
        }
        for (const std::size_t remainder : remainders) {
            CAPTURE(static_cast<int>(version), remainder);
            const std::string old = old_file(version, remainder);
            const change what = append_some(version, publish_mode::in_place);
            const expectation expected = expected_of(old, what, true);
            const std::string seen = seen_of(old, what, expected);
            CHECK(seen.find("oe") != std::string::npos); // it has looked in the midst
            CHECK(seen.find("nn") != std::string::npos); // and before the record was gone
        }
    }
}

TEST_CASE("another process sees the old file, the new one or an error, whichever way a file is changed") {
    using namespace outside_readers;
    if (!support::forks_beside_threads()) {
        return;
    }
    for (const format_version version : all_versions) {
        const std::size_t pieces = version == format_version::v2 ? 130 : 13;
        for (const std::size_t remainder : {0U, 30U, 59U, 63U}) {
            CAPTURE(static_cast<int>(version), remainder);
            const std::string old = old_file(version, remainder);
            std::vector<std::pair<std::string, change>> all = {
                {"append", append_some(version, publish_mode::replace)},
                {"append nothing in place", append_nothing(version)},
                {"create", create_again(version, publish_mode::replace)},
                {"create, written over", create_again(version, publish_mode::in_place)},
            };
            if (version != format_version::v2) { // which only grows
                all.emplace_back("edit", edit_some(version, publish_mode::replace));
                all.emplace_back("edit in place", edit_some(version, publish_mode::in_place));
            }
            for (const auto& [name, what] : all) {
                CAPTURE(name);
                const expectation expected = expected_of(old, what, name.find("in place") != std::string::npos);
                seen_of(old, what, expected);
                if (remainder == 59) { // and where the system takes bytes piece by piece
                    seen_of(old, what, expected, {faulty_os::never, 1, pieces});
                }
            }
            for (const publish_mode publish : {publish_mode::replace, publish_mode::in_place}) {
                const change what = create_again(version, publish);
                seen_of("", what, expected_of("", what));
                if (remainder == 59) {
                    seen_of("", what, expected_of("", what), {faulty_os::never, 1, pieces});
                }
            }
        }
    }
}

TEST_CASE("a tensor that holds a whole file never passes for the file that it is written to") {
    using namespace outside_readers;
    if (!support::forks_beside_threads()) {
        return;
    }
    for (const format_version version : {format_version::v0_1, format_version::v1_1, format_version::v1_2}) {
        const std::string old = old_file(version, 59);
        const std::vector<std::uint8_t> embedded = whole_file(version);
        const change append = append_some(version, publish_mode::in_place, embedded);
        const change edit = edit_some(version, publish_mode::in_place, embedded);
        const change create = create_again(version, publish_mode::in_place, embedded);
        for (const std::size_t most_moved : {std::size_t{1}, faulty_os::never}) { // after every byte
            CAPTURE(static_cast<int>(version), most_moved);
            seen_of(old, append, expected_of(old, append, true), {faulty_os::never, 1, most_moved});
            seen_of(old, edit, expected_of(old, edit, true), {faulty_os::never, 1, most_moved});
            seen_of(old, create, expected_of(old, create), {faulty_os::never, 1, most_moved});
            seen_of("", create, expected_of("", create), {faulty_os::never, 1, most_moved});
        }
    }
}

TEST_CASE("a tensor that ends with a whole file where a write of the writer ends never passes for the file") {
    using namespace outside_readers;
    if (!support::forks_beside_threads()) {
        return;
    }
    constexpr std::size_t mebibyte = std::size_t{1} << 20;
    const format_version version = format_version::v1_2;
    const std::string old = old_file(version, 59);
    const std::vector<std::uint8_t> embedded = whole_file(version);
    const std::size_t begin = (old.size() + 63) / 64 * 64;
    std::vector<std::uint8_t> first = some_bytes(2 * mebibyte - begin, 3);
    std::copy(embedded.begin(), embedded.end(), first.end() - static_cast<std::ptrdiff_t>(embedded.size()));
    const change append = append_some(version, publish_mode::in_place, first);
    CHECK(seen_of(old, append, expected_of(old, append, true)).find('e') != std::string::npos);
}

TEST_CASE("another process sees no mixture where calls of a writer fail, or where it ends and the file is recovered") {
    using namespace outside_readers;
    if (!support::forks_beside_threads()) {
        return;
    }
    for (const format_version version : {format_version::v1_2, format_version::v2}) {
        const bool is_2 = version == format_version::v2;
        const std::string old = old_file(version, is_2 ? 4091 : 59);
        std::vector<std::pair<std::string, change>> all = {
            {"append in place", append_some(version, publish_mode::in_place)}};
        if (!is_2) {
            all.emplace_back("edit in place", edit_some(version, publish_mode::in_place));
            all.emplace_back("append", append_some(version, publish_mode::replace));
        }
        for (const auto& [name, what] : all) {
            CAPTURE(static_cast<int>(version), name);
            try_faults(old, what, expected_of(old, what, name.find("in place") != std::string::npos));
        }
    }
}

TEST_CASE("a writer that goes on and on shows every other process whole states alone") {
    using namespace outside_readers;
    if (!support::forks_beside_threads()) {
        return;
    }
    constexpr int most_generations = 40;
    const auto states_seen = [&](const temp_dir& directory, const std::function<void(int)>& work) {
        const ::pid_t writing = ::fork();
        if (writing == 0) {
            for (int generation = 1; generation <= most_generations; ++generation) {
                work(generation);
            }
            ::_exit(0);
        }
        std::size_t whole = 0, mixed = 0;
        for (int status = 0; ::waitpid(writing, &status, WNOHANG) == 0;) {
            const result<reader> file = reader::open(directory / "f", by(io_mode::positional));
            if (!file) {
                continue;
            }
            // Each tensor holds the number of its generation, and all of one state hold one, or rise by the name.
            const std::optional<content> seen = content_of(*file);
            bool is_whole = true;
            for (const auto& [name, said] : seen.value_or(content())) {
                const std::string bytes = said.substr(std::min(said.size(), said.find(':') + 1));
                const char expected = name[0] == 't' ? static_cast<char>(std::stoi(name.substr(1))) : bytes[0];
                is_whole = is_whole && (name.empty() || bytes == std::string(3000, expected));
            }
            (seen && !is_whole ? mixed : whole) += seen ? 1U : 0U;
        }
        CHECK(mixed == 0);
        return whole;
    };
    const auto tensor_of = [](int generation) {
        return std::vector<std::uint8_t>(3000, static_cast<std::uint8_t>(generation));
    };
    const write_options in_place = write_options().publish(publish_mode::in_place).sync(false).threads(1);
    const write_options beside = write_options().sync(false).threads(1);
    const auto create = [&](const file_path& path, int generation) {
        return writer::create(path, beside).and_then([&](writer out) {
            return out.add("x", {3000}, tensor_of(generation)).and_then([&] { return out.finish(); });
        });
    };
    for (const int way : {0, 1, 2}) {
        CAPTURE(way);
        const temp_dir directory;
        create(directory / "f", 1).value();
        const std::size_t whole = states_seen(directory, [&](int generation) {
            if (way == 0) {
                writer out = writer::append(directory / "f", in_place).value();
                out.add("t" + std::to_string(generation), {3000}, tensor_of(generation)).value();
                out.finish().value();
            } else if (way == 1) {
                ztensor::editor out = ztensor::edit(directory / "f", in_place).value();
                out.replace("x", {3000}, tensor_of(generation)).value();
                out.finish().value();
            } else {
                create(directory / "f", generation).value();
            }
        });
        CHECK(whole > 0);
    }
}

#else

TEST_CASE("another process looks on while a file is written where there is a fork") {
    WARN("skipped: Windows has no fork");
}

#endif
