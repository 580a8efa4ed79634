// SPDX-License-Identifier: MIT
//
// A history of appends and edits, as the bytes of the input say, beside what a plain map would hold: after each step
// the file is the map, whether the step was finished or dropped.
#include "fuzz/fuzzing.hpp"
#include "fuzz/work_file.hpp"

#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <map>
#include <string>
#include <vector>

const std::size_t fuzzing::working_bytes = std::size_t{16} << 20;

namespace {

using tensors = std::map<std::string, std::vector<std::uint16_t>>;

class history {
public:
    history(const fuzzing::work_file& file, std::string_view steps) : file_(file), steps_(steps) {}

    void live_through() {
        version_ = static_cast<ztensor::format_version>(next() % 3);
        ztensor::writer out = ztensor::writer::create(file_.path(), options(false)).value();
        add_some(out, expected_);
        fuzzing::require(out.finish().has_value(), "a first file is written");
        check();
        constexpr int most_steps = 12;
        for (int step = 0; step < most_steps && !steps_.empty(); ++step) {
            next() % 2 == 0 ? append() : edit();
            check();
        }
    }

private:
    unsigned next() {
        if (steps_.empty()) {
            return 0;
        }
        const auto value = static_cast<unsigned char>(steps_.front());
        steps_.remove_prefix(1);
        return value;
    }

    [[nodiscard]] ztensor::write_options options(bool in_place) const {
        return ztensor::write_options()
            .version(version_)
            .publish(in_place ? ztensor::publish_mode::in_place : ztensor::publish_mode::replace)
            .sync(ztensor::sync_level::none)
            .threads(1);
    }
    std::string some_name() { return "t" + std::to_string(next() % 8); }
    std::vector<std::uint16_t> some_elements() {
        return std::vector<std::uint16_t>(next() % 40, static_cast<std::uint16_t>(next()));
    }

    void add_some(ztensor::writer& out, tensors& to) {
        for (unsigned count = next() % 4; count > 0; --count) {
            const std::string name = some_name();
            const std::vector<std::uint16_t> elements = some_elements();
            const ztensor::store how = next() % 2 == 0 ? ztensor::store() : ztensor::store().zstd();
            const bool added = out.add(name, {elements.size()}, elements, how).has_value();
            fuzzing::require(added == to.emplace(name, elements).second, "a name is taken once");
        }
    }

    void append() {
        const unsigned choice = next();
        tensors more = expected_;
        auto out = ztensor::writer::append(file_.path(), options((choice & 1) != 0));
        fuzzing::require(out.has_value(), "a good file can be gone on with");
        fuzzing::require(ztensor::writer::append(file_.path(), options(false)).error().code() == ztensor::errc::busy,
                         "a second writer is refused");
        add_some(*out, more);
        if ((choice & 2) == 0) {
            fuzzing::require(out->finish().has_value(), "what was added is published");
            expected_ = std::move(more);
        }
    }

    void edit() {
        tensors changed = expected_;
        auto editor = ztensor::edit(file_.path(), options(next() % 2 == 0));
        fuzzing::require(editor.has_value(), "a good file can be edited");
        for (unsigned count = next() % 4; count > 0; --count) {
            const std::string name = some_name();
            const bool is_there = changed.count(name) != 0;
            switch (next() % 3) {
            case 0:
                fuzzing::require(editor->remove(name).has_value() == is_there, "what is there can be taken out");
                changed.erase(name);
                break;
            case 1: {
                const std::string other = some_name();
                const bool can_be = is_there && (changed.count(other) == 0 || other == name);
                fuzzing::require(editor->rename(name, other).has_value() == can_be, "a free name can be given");
                if (can_be && other != name) {
                    changed[other] = changed[name];
                    changed.erase(name);
                }
                break;
            }
            default: {
                const std::vector<std::uint16_t> elements = some_elements();
                fuzzing::require(editor->replace(name, {elements.size()}, elements).has_value() == is_there,
                                 "what is there can be replaced");
                if (is_there) {
                    changed[name] = elements;
                }
            }
            }
        }
        if (next() % 4 != 0) {
            fuzzing::require(editor->finish().has_value(), "an edit is published");
            expected_ = std::move(changed);
        }
    }

    void check() const {
        const auto file = ztensor::reader::open(file_.path());
        fuzzing::require(file.has_value(), "the file opens", file ? std::string() : std::string(file.error().what()));
        fuzzing::require(file->size() == expected_.size(), "it has as many objects as the map");
        for (const auto& [name, elements] : expected_) {
            const auto found = file->read<std::uint16_t>(name);
            fuzzing::require(found && *found == elements, "each is what the map holds");
        }
        fuzzing::require(file_.is_alone(), "nothing is left beside");
        fuzzing::require(ztensor::recover(file_.path()).has_value(),
                         "there is nothing to recover, and that is no error");
    }

    const fuzzing::work_file& file_;
    std::string_view steps_;
    ztensor::format_version version_ = ztensor::format_version::v1_2;
    tensors expected_;
};

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    static const work_file file;
    std::error_code ignored;
    std::filesystem::remove(file.path(), ignored);
    history(file, as_text(input)).live_through();
}
