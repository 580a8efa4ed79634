// SPDX-License-Identifier: MIT
//
// Any bytes as a file that is gone on with: refused and left as it was, or extended and edited, beside and in place;
// then it opens, and what it held is still there.
#include "fuzz/fuzzing.hpp"
#include "fuzz/work_file.hpp"

#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <string>
#include <utility>
#include <vector>

const std::size_t fuzzing::working_bytes = std::size_t{16} << 20;

namespace {

const std::vector<float> added = {1, 2, 3};
constexpr const char* added_name = "an object of the fuzzer's";

ztensor::write_options options(ztensor::publish_mode mode) {
    return ztensor::write_options().publish(mode).sync(ztensor::sync_level::none).threads(1);
}

void check_kept(const ztensor::reader& before, const ztensor::reader& after, std::string_view but) {
    std::size_t count = 0;
    for (const ztensor::object_view object : before) {
        if (object.name() == but) {
            continue;
        }
        const auto other = after.find(object.name());
        fuzzing::require(other.has_value() && other->shape() == object.shape(), "what was there is there");
        const auto one = object.read<std::byte>();
        const auto two = other->read<std::byte>();
        fuzzing::require(one.has_value() == two.has_value() && (!one || *one == *two), "its bytes are the same");
        if (++count == 8) {
            return;
        }
    }
}

/// By its path; a root whose shards are not there can be opened only where nobody looks for them, in memory.
ztensor::result<ztensor::reader> reopened(const fuzzing::work_file& file) {
    auto opened = ztensor::reader::open(file.path(), fuzzing::small_limits());
    const bool lacks_shards = !opened && opened.error().code() == ztensor::errc::shard_missing;
    return lacks_shards ? ztensor::reader::from_bytes(file.read(), fuzzing::small_limits()) : std::move(opened);
}

void try_append(const fuzzing::work_file& file, ztensor::bytes_view input, const ztensor::reader* before,
                ztensor::publish_mode mode) {
    file.write(input);
    {
        auto out = ztensor::writer::append(file.path(), options(mode));
        fuzzing::require(before != nullptr || !out, "what does not open can't be gone on with");
        if (out && out->add(added_name, {3}, added).has_value()) {
            fuzzing::require(out->finish().has_value(), "what was taken can be finished");
            const auto after = reopened(file);
            fuzzing::require(after.has_value(), "a file that was gone on with opens",
                             after ? std::string() : std::string(after.error().what()));
            fuzzing::require(after->size() == before->size() + 1 && after->read<float>(added_name).value() == added,
                             "one object more");
            check_kept(*before, *after, added_name);
            fuzzing::require(file.is_alone(), "nothing is left beside");
            return;
        }
    }
    const std::vector<std::byte> now = file.read();
    fuzzing::require(fuzzing::as_text(ztensor::bytes_view(now)) == fuzzing::as_text(input),
                     "a file that was not gone on with is as it was");
    fuzzing::require(file.is_alone(), "nothing is left beside");
}

void try_edit(const fuzzing::work_file& file, ztensor::bytes_view input, const ztensor::reader& before,
              ztensor::publish_mode mode) {
    file.write(input);
    auto editor = ztensor::edit(file.path(), options(mode));
    if (!editor || before.empty()) {
        return;
    }
    const std::string first((*before.begin()).name());
    const bool renamed = editor->rename(first, added_name).has_value();
    if (!renamed || !editor->finish()) {
        return;
    }
    const auto after = reopened(file);
    fuzzing::require(after.has_value(), "a file that was edited opens",
                     after ? std::string() : std::string(after.error().what()));
    fuzzing::require(after->size() == before.size() && after->contains(added_name), "the object has its new name");
    check_kept(before, *after, first);
    auto again = ztensor::edit(file.path(), options(mode));
    fuzzing::require(again.has_value() && again->remove(added_name).has_value() && again->finish().has_value(),
                     "an object can be taken out");
    const auto last = reopened(file);
    fuzzing::require(last.has_value() && last->size() + 1 == before.size(), "it is gone");
    check_kept(before, *last, first);
    fuzzing::require(ztensor::compact(file.path(), options(mode)).has_value(), "it can be compacted");
    const auto compacted = reopened(file);
    fuzzing::require(compacted.has_value() && compacted->size() == last->size(), "it stays what it was");
    check_kept(before, *compacted, first);
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    static const work_file file;
    const own_copy content(input);
    const auto before = ztensor::reader::from_bytes(content.bytes(), small_limits());
    const ztensor::reader* const opened = before ? &*before : nullptr;
    try_append(file, input, opened, ztensor::publish_mode::replace);
    try_append(file, input, opened, ztensor::publish_mode::in_place);
    if (before) {
        try_edit(file, input, *before, ztensor::publish_mode::replace);
        try_edit(file, input, *before, ztensor::publish_mode::in_place);
    }
}
