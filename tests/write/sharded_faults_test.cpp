// SPDX-License-Identifier: MIT
//
// Models in many files through a system that fails: what sharded_writer promises of the old model and the new one.
#include "support/catch.hpp"
#include "support/faulty_os.hpp"
#include "support/model_names.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/write/sharded_core.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sharded_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

namespace sharded_faults {

using support::faulty_os;
using support::temp_dir;
using ztensor::errc;
using ztensor::result;
namespace detail = ztensor::detail;

/// So many tensors of this number, each in a file of its own.
result<void> write_model(const std::filesystem::path& path, float number, std::size_t files, faulty_os& os) {
    auto* const core = new detail::sharded_core(path, ztensor::write_options().shard_bytes(1), os);
    ztensor::sharded_writer out = detail::sharded_access::make(core);
    result<void> done = core->open();
    for (std::size_t i = 0; i < files && done; ++i) {
        done = out.add("t" + std::to_string(i), {300}, std::vector<float>(300, number));
    }
    return done ? out.finish() : done;
}

/// All numbers of the model: one if it is whole, none if it can't be opened or read.
std::set<float> numbers_of_model(const std::filesystem::path& index) {
    const auto model = ztensor::open_any(index);
    std::set<float> all;
    for (const char* const name : {"t0", "t1", "t2"}) {
        if (model && model->contains(name)) {
            const auto numbers = model->read<float>(name).value();
            all.insert(numbers.begin(), numbers.end());
        }
    }
    return all;
}

/// The files of models of two and three.
bool is_of_model(const std::string& name) {
    static const std::set<std::string> all = {"m-00001-of-00002.zt", "m-00002-of-00002.zt", "m-00001-of-00003.zt",
                                              "m-00002-of-00003.zt", "m-00003-of-00003.zt", "m.zt.index.json"};
    return all.count(support::without_token(name)) != 0;
}

std::vector<std::string> names_of_models(const temp_dir& folder) {
    std::vector<std::string> names = folder.names();
    names.erase(std::remove_if(names.begin(), names.end(), [](const std::string& each) { return !is_of_model(each); }),
                names.end());
    return names;
}

/// How a system fails, and the files of the model that is there, or 0.
struct model_disturbance {
    std::size_t old_files;
    std::size_t first_failing_call = faulty_os::never;
    std::size_t failing_calls = 1;
    std::size_t room_bytes = faulty_os::never;
    std::size_t most_moved = faulty_os::never;
};

/// Model 2 of two files where there was model 1. Gives what numbers there are then.
std::set<float> check_disturbed_model(const model_disturbance& by) {
    const temp_dir folder;
    const std::filesystem::path index = folder / "m.zt.index.json";
    faulty_os quick;
    quick.syncs = false;
    if (by.old_files != 0) {
        write_model(folder / "m.zt", 1, by.old_files, quick).value();
    }
    faulty_os os;
    os.syncs = false;
    os.first_failing_call = by.first_failing_call;
    os.failing_calls = by.failing_calls;
    os.room_bytes = by.room_bytes;
    os.most_moved = by.most_moved;
    os.failure = std::make_error_code(by.failing_calls == 1 ? std::errc::io_error : std::errc::no_space_on_device);
    const result<void> done = write_model(folder / "m.zt", 2, 2, os);
    CAPTURE(by.old_files, by.first_failing_call, by.failing_calls, by.room_bytes,
            done ? std::string() : std::string(done.error().what()));
    CHECK(os.open_handles == 0);
    const bool could_tidy = by.failing_calls == 1 && (by.first_failing_call >= os.calls.size() ||
                                                      os.calls[by.first_failing_call] != "remove_in");
    CHECK((!could_tidy || folder.names() == names_of_models(folder)));
    CHECK(ztensor::remove_abandoned(folder.path(), 0).has_value());
    const std::set<float> numbers = numbers_of_model(index);
    if (done) {
        CHECK(numbers == std::set<float>{2});
    } else {
        CHECK((done.error().code() == errc::io_error || done.error().code() == errc::not_durable));
        // Never a mixture, by the index or by the folder, and always a model where there was one.
        CHECK((numbers.size() == 1 || (by.old_files == 0 && numbers.empty())));
        CHECK((by.old_files == 0 || numbers_of_model(folder.path()) == numbers));
        CHECK((by.old_files != 0 || numbers != std::set<float>{1}));
        CHECK((by.room_bytes == faulty_os::never || numbers == std::set<float>{1} || by.old_files == 0));
    }
    for (const std::string& name : folder.names()) {
        CAPTURE(name);
        CHECK(is_of_model(name));
        CHECK((name == "m.zt.index.json" || ztensor::reader::open(folder / name).has_value()));
    }
    return numbers;
}

} // namespace sharded_faults

} // namespace

TEST_CASE("whichever call fails while many files are written, the index leads to the old model or the new one") {
    using namespace sharded_faults;
    for (const std::size_t old_files : {0u, 2u, 3u}) {
        const temp_dir folder;
        faulty_os os;
        os.syncs = false;
        if (old_files != 0) {
            write_model(folder / "m.zt", 1, old_files, os).value();
        }
        const std::size_t before = os.calls.size();
        write_model(folder / "m.zt", 2, 2, os).value();
        CHECK(numbers_of_model(folder / "m.zt.index.json") == std::set<float>{2});
        const std::size_t call_count = os.calls.size() - before;
        REQUIRE(call_count > 50);
        std::vector<std::set<float>> found; // where all fails from some call on
        for (std::size_t call = 0; call < call_count; ++call) {
            check_disturbed_model({old_files, call});
            found.push_back(check_disturbed_model({old_files, call, faulty_os::never}));
        }
        const auto of_old = static_cast<std::size_t>(std::count(found.begin(), found.end(), std::set<float>{1}));
        const auto of_none = static_cast<std::size_t>(std::count(found.begin(), found.end(), std::set<float>()));
        if (old_files != 0) { // first the old one, then the new one
            CHECK(of_old > call_count / 2);
            CHECK(of_none == 0);
            CHECK(found[of_old - 1] == std::set<float>{1});
        }
        check_disturbed_model({old_files, faulty_os::never, 1, faulty_os::never, 100});
    }
}

TEST_CASE("a disk that gets full while many files are written leaves the old model as it was") {
    using namespace sharded_faults;
    for (const std::size_t old_files : {0u, 2u, 3u}) {
        for (const std::size_t room : {0u, 8u, 1000u, 1300u, 2000u, 2700u, 3000u}) {
            check_disturbed_model({old_files, faulty_os::never, 1, room});
        }
    }
}
