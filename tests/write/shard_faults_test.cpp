// SPDX-License-Identifier: MIT
//
// Shards and their root through a system that fails: what write_options::shard_bytes() says of a file that can't be
// finished.
#include "support/catch.hpp"
#include "support/faulty_os.hpp"
#include "support/model_names.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/detail/write/section_writer.hpp>
#include <ztensor/detail/write/writer_core.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

namespace shard_faults {

using support::faulty_os;
using support::temp_dir;
using ztensor::errc;
using ztensor::reader;
using ztensor::result;
namespace detail = ztensor::detail;

/// Two tensors of these numbers, each in a shard of its own.
result<void> write_sharded(const std::filesystem::path& root, float number, faulty_os& os) {
    const auto options = ztensor::write_options().version(ztensor::format_version::v2).shard_bytes(1);
    auto shards = detail::shard_files::make(root, options, os);
    if (!shards) {
        return std::move(shards).error();
    }
    result<std::unique_ptr<ztensor::byte_sink>> sink = detail::create_root(root, options, os);
    if (!sink) {
        return std::move(sink).error();
    }
    auto* const core = new detail::writer_core(*std::move(sink), nullptr, options);
    ztensor::writer out = detail::writer_access::make(core);
    core->file().shard_into(*std::move(shards));
    result<void> done = core->begin();
    done = done ? out.add("a", {2}, std::vector<float>{number, number}) : std::move(done);
    done = done ? out.add("b", {3}, std::vector<float>{number, number, number}) : std::move(done);
    return done ? out.finish() : done;
}

/// All numbers of the file: one if it is whole, none if it can't be opened or read.
std::set<float> numbers_of(const std::filesystem::path& root) {
    const result<reader> opened = reader::open(root);
    std::set<float> all;
    for (const char* const name : {"a", "b"}) {
        const auto numbers = opened ? opened->read<float>(name) : opened.error();
        if (!numbers) {
            return {};
        }
        all.insert(numbers->begin(), numbers->end());
    }
    return opened->verify().value().ok() ? all : std::set<float>();
}

const std::set<std::string> all_files = {"m.zt", "m-00001.zt", "m-00002.zt"};

/// How a system fails.
struct disturbance {
    std::size_t first_failing_call;
    std::size_t failing_calls;
    std::size_t most_moved;
    std::errc failure;
};

/// 2 where there was 1 or nothing.
void check_disturbed(bool was_there, const disturbance& by) {
    const temp_dir directory;
    const std::filesystem::path root = directory / "m.zt";
    faulty_os quick;
    quick.syncs = false;
    if (was_there) {
        write_sharded(root, 1, quick).value();
    }
    faulty_os os;
    os.syncs = false;
    os.first_failing_call = by.first_failing_call;
    os.failing_calls = by.failing_calls;
    os.most_moved = by.most_moved;
    os.failure = std::make_error_code(by.failure);
    const result<void> done = write_sharded(root, 2, os);
    CAPTURE(was_there, by.first_failing_call, by.failing_calls, done ? std::string() : done.error().what());
    CHECK(os.open_handles == 0);
    CHECK(ztensor::remove_abandoned(directory.path(), 0).has_value());
    const std::set<float> numbers = numbers_of(root);
    if (done) {
        CHECK(numbers == std::set<float>{2});
    } else {
        CHECK((done.error().code() == errc::io_error || done.error().code() == errc::not_durable));
        CHECK((numbers.size() == 1 || (!was_there && numbers.empty()))); // one whole file, and always where there was
        CHECK((was_there || numbers != std::set<float>{1}));
    }
    for (const std::string& name : directory.names()) {
        CAPTURE(name);
        CHECK(all_files.count(support::without_token(name)) == 1);
        CHECK((name == "m.zt" || reader::open(directory / name).has_value())); // a shard that is there is whole
    }
}

} // namespace shard_faults

} // namespace

TEST_CASE("whichever call fails while shards are written, files are whole, and no mixture is taken for one") {
    using namespace shard_faults;
    for (const bool was_there : {false, true}) {
        const temp_dir directory;
        faulty_os os;
        os.syncs = false;
        if (was_there) {
            write_sharded(directory / "m.zt", 1, os).value();
        }
        const std::size_t before = os.calls.size();
        write_sharded(directory / "m.zt", 2, os).value();
        CHECK(numbers_of(directory / "m.zt") == std::set<float>{2});
        const std::size_t call_count = os.calls.size() - before;
        REQUIRE(call_count > 30);
        for (std::size_t call = 0; call < call_count; ++call) {
            check_disturbed(was_there, {call, 1, faulty_os::never, std::errc::io_error});
            check_disturbed(was_there, {call, faulty_os::never, faulty_os::never, std::errc::no_space_on_device});
        }
        check_disturbed(was_there, {faulty_os::never, 1, 100, std::errc::io_error});
    }
}
