// SPDX-License-Identifier: MIT
//
// Appends to a file, or edits it, for the comparison with other implementations: go_on FILE HOW, where HOW is append,
// append-in-place, edit or edit-in-place.
#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

using ztensor::result;
using ztensor::write_options;

const char* const new_name = "appended by ztensor";

/// One tensor more, raw and with a digest.
result<void> append(const std::string& path, const write_options& options) {
    result<ztensor::writer> out = ztensor::writer::append(path, options);
    if (!out) {
        return std::move(out).error();
    }
    const std::vector<float> elements = {1.5F, -2.0F, 3.25F};
    const result<void> added = out->add(new_name, {3}, elements, ztensor::store().digest(ztensor::digest::sha256));
    return added ? out->finish() : added;
}

/// The tensor with other elements, under another name and with an attribute.
result<void> edit(const std::string& path, const write_options& options) {
    if (result<void> appended = append(path, {}); !appended) {
        return appended;
    }
    result<ztensor::editor> change = ztensor::edit(path, options);
    if (!change) {
        return std::move(change).error();
    }
    const std::vector<float> elements = {7.0F, 8.0F, 9.0F};
    result<void> done = change->replace(new_name, {3}, elements, ztensor::store().digest(ztensor::digest::sha256));
    done = done ? change->rename(new_name, "renamed by ztensor") : std::move(done);
    done = done ? change->attributes("renamed by ztensor", ztensor::attributes().set("k", 1)) : std::move(done);
    return done ? change->finish() : done;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: go_on FILE append|append-in-place|edit|edit-in-place\n", stderr);
        return 2;
    }
    const std::string path = argv[1];
    const std::string how = argv[2];
    const write_options in_place = write_options().publish(ztensor::publish_mode::in_place);
    const result<void> done = how == "append"            ? append(path, {})
                              : how == "append-in-place" ? append(path, in_place)
                              : how == "edit"            ? edit(path, {})
                                                         : edit(path, in_place);
    if (!done) {
        std::fprintf(stderr, "%s: %s\n", std::string(ztensor::name(done.error().code())).c_str(),
                     done.error().what().c_str());
        return 1;
    }
    return 0;
}
