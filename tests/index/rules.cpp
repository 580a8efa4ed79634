// SPDX-License-Identifier: MIT
#include "index/rules.hpp"

#include "index/rule_files.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rules {

using namespace std::string_literals;

namespace {

/// Whether what comes of a file is the same with any options.
bool has_default_limits(const read_options& options) {
    const read_options plain;
    return options.max_manifest_bytes() == plain.max_manifest_bytes() && options.max_objects() == plain.max_objects() &&
           options.max_components_per_object() == plain.max_components_per_object();
}

/// In 0.1 an object's map is checked before its name is looked for, and its one blob has no name of its own.
void check_where(const error& why, const std::string& where, ztensor::version from) {
    const std::size_t slash = where.find('/');
    const std::string object = where.substr(0, slash);
    const std::string component = slash == std::string::npos ? "" : where.substr(slash + 1);
    constexpr errc before_the_name[] = {errc::cbor_truncated, errc::cbor_malformed, errc::cbor_depth,  errc::cbor_utf8,
                                        errc::schema_key,     errc::duplicate_key,  errc::name_invalid};
    const bool may_lack_name =
        from == version::v0_1 &&
        std::find(std::begin(before_the_name), std::end(before_the_name), why.code()) != std::end(before_the_name);
    if (!may_lack_name) {
        CHECK(why.object() == object);
    }
    if (from != version::v0_1) {
        CHECK(why.component() == component);
    }
}

void set_attribute(sample& file, bytes encoded_key, bytes value) {
    if (file.is_0_1()) {
        file.object_map().add(std::move(encoded_key), std::move(value));
    } else {
        file.root("attributes", cbor::map().add(std::move(encoded_key), std::move(value)));
    }
}

void check_use(const reader& file, use call, const use_row& expected) {
    const result<void> done = call(file);
    if (!expected.refusal) {
        CHECK((done ? "accepted"s : done.error().what()) == "accepted");
        return;
    }
    CHECK_FALSE(done.has_value());
    if (!done) {
        CAPTURE(done.error().what());
        CHECK(done.error().code() == *expected.refusal);
        CHECK(done.error().object() + "/" + done.error().component() == expected.where);
        CHECK(done.error().path() == file.path());
    }
}

} // namespace

std::vector<ztensor::version> generations_in(unsigned set) {
    std::vector<ztensor::version> found;
    for (const ztensor::version each : {version::v0_1, version::v1_0, version::v1_1, version::v1_2}) {
        if ((set >> static_cast<unsigned>(each) & 1) != 0) {
            found.push_back(each);
        }
    }
    return found;
}

void check_refusal(const opening& opened, errc code, const std::string& where, ztensor::version from,
                   std::size_t size) {
    CHECK_FALSE(opened.file.has_value());
    if (opened.file.has_value()) {
        return;
    }
    const error& why = opened.file.error();
    CAPTURE(why.what());
    CHECK(why.code() == code);
    check_where(why, where, from);
    CHECK(why.offset().value_or(0) <= size);
    CHECK(why.path().empty() != opened.is_path);
    CHECK(!why.sentence().empty());
}

void check_rows(const std::vector<row>& rows) {
    const temp_dir directory;
    for (const row& each : rows) {
        for (const ztensor::version from : generations_in(each.generations)) {
            sample changed(from);
            each.make(changed);
            const bytes content = changed.file();
            const std::vector<ztensor::version> all = generations_in(each.generations);
            if (has_default_limits(each.options) && (from == all.front() || from == all.back())) {
                keep_file(each.rule, name(from), content, each.refusal);
            }
            for (const opening& opened : open_every_way(content, directory, each.options)) {
                CAPTURE(each.rule, name(from), opened.way);
                if (each.refusal) {
                    check_refusal(opened, *each.refusal, each.where, from, content.size());
                } else {
                    CHECK((opened.file ? "accepted"s : opened.file.error().what()) == "accepted");
                }
            }
        }
    }
}

void check_files(const std::vector<file_row>& rows) {
    const temp_dir directory;
    for (const file_row& each : rows) {
        keep_file(each.rule, "container", each.content, each.refusal);
        for (const opening& opened : open_every_way(each.content, directory)) {
            CAPTURE(each.rule, opened.way);
            if (each.refusal) {
                check_refusal(opened, *each.refusal, "", version::v1_2, each.content.size());
            } else {
                CHECK((opened.file ? "accepted"s : opened.file.error().what()) == "accepted");
            }
        }
    }
}

change root(std::string key, bytes value) {
    return [=](sample& file) { file.root(key, value); };
}

change object(std::string key, bytes value) {
    return [=](sample& file) { file.object(key, value); };
}

change component(std::string key, bytes value) {
    return [=](sample& file) { file.component(key, value); };
}

change without(std::string key) {
    return [=](sample& file) { file.without(key); };
}

change attribute_value(bytes value) {
    return [=](sample& file) { set_attribute(file, cbor::text("k"), value); };
}

change attribute_key(bytes encoded_key) {
    return [=](sample& file) { set_attribute(file, encoded_key, cbor::null); };
}

change pair_in_root(bytes key, bytes value) {
    return [=](sample& file) { file.root_map().add(key, value); };
}

change pair_in_object(bytes key, bytes value) {
    return [=](sample& file) { file.object_map().add(key, value); };
}

change pair_in_component(bytes key, bytes value) {
    return [=](sample& file) { file.component_map().add(key, value); };
}

change both(change first, change second) {
    return [=](sample& file) {
        first(file);
        second(file);
    };
}

change shaped(std::vector<std::uint64_t> dimensions) {
    return [=](sample& file) { file.shape(dimensions); };
}

change placed(std::uint64_t offset, std::uint64_t length, std::vector<std::uint64_t> dimensions) {
    return [=](sample& file) { file.dtype("u8").shape(dimensions).place(offset, length); };
}

change named(std::vector<bytes> encoded_names) {
    return [=](sample& file) {
        cbor::map map;
        std::vector<bytes> tensors;
        for (const bytes& name : encoded_names) {
            if (file.is_0_1()) {
                tensors.push_back(sample(file).root("name", name).encoded_object());
            } else {
                map.add(name, file.encoded_object());
            }
        }
        file.objects(file.is_0_1() ? cbor::array(tensors) : map.encoded());
    };
}

bytes nested(std::size_t levels, std::string_view start, std::string_view end) {
    return support::repeated(levels, start) + "\x01" + support::repeated(levels, end);
}

void check_uses(const std::vector<use_row>& rows) {
    const temp_dir directory;
    for (const use_row& each : rows) {
        for (const ztensor::version from : generations_in(each.generations)) {
            sample changed(from);
            each.make(changed);
            for (const opening& opened : open_every_way(changed.file(), directory, each.options)) {
                CAPTURE(each.rule, name(from), opened.way);
                REQUIRE((opened.file ? "opens" : opened.file.error().what()) == "opens");
                for (std::size_t i = 0; i < each.uses.size(); ++i) {
                    CAPTURE(i);
                    check_use(*opened.file, each.uses[i], each);
                }
            }
        }
    }
}

} // namespace rules
