// SPDX-License-Identifier: MIT
#include "characters.hpp"
#include "command.hpp"
#include "input.hpp"
#include "json_info.hpp"
#include "layout.hpp"
#include "report_page.hpp"
#include "scales.hpp"
#include "stats.hpp"
#include "terminal.hpp"
#include "wording.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zt {
namespace {

using nlohmann::json;

struct report_options {
    std::string path;
    std::string out;
    bool has_stats = true;
    bool takes_raw_values = false;
};

/// Names and words of files, which need not be UTF-8.
std::string as_utf8(std::string_view text) {
    std::string out;
    for (character each; !text.empty(); text.remove_prefix(each.bytes)) {
        each = first_character(text);
        out += each.is_utf8 ? text.substr(0, each.bytes) : std::string_view("\xef\xbf\xbd"); // U+FFFD
    }
    return out;
}

json number_of(double number) {
    return std::isfinite(number) ? json(number) : json(std::isnan(number) ? "NaN" : number < 0 ? "-inf" : "inf");
}

void add_numbers(json& row, const ztensor::object_view& object, const scale_finder* finder) {
    const std::string scales = finder != nullptr ? finder->scales_of(object) : "";
    if (!scales.empty()) {
        row["why"] = "codes, whose scales are in " + as_utf8(scales) + "; --raw-values shows them";
        return;
    }
    const auto stats = stats_of(object);
    if (!stats) {
        row["why"] = as_utf8(in_words_of_zt(std::string(stats.error().sentence())));
        return;
    }
    if (stats->finite() != 0) {
        row["min"] = number_of(stats->least);
        row["max"] = number_of(stats->most);
        row["mean"] = number_of(stats->mean);
        row["deviation"] = number_of(stats->deviation);
        row["bars"] = stats->bars;
    }
    row["zeros"] = stats->count == 0 ? 0.0 : static_cast<double>(stats->zeros) / static_cast<double>(stats->count);
    row["nan"] = stats->not_numbers;
    row["infinite"] = stats->infinite;
}

json row_of(const ztensor::object_view& object, bool has_stats, const scale_finder* finder) {
    const storage_words how = storage_of(object);
    std::uint64_t offset = 0;
    for (const ztensor::component_view& part : parts_of(object)) {
        offset = offset == 0 ? part.offset() : std::min(offset, part.offset());
    }
    json row = {{"name", as_utf8(object.name())},
                {"type", as_utf8(type_of(object))},
                {"format", as_utf8(object.format().text())},
                {"shape", object.shape()},
                {"parameters", object.element_count()},
                {"stored", stored_bytes_of(object)},
                {"decoded", how.decoded_bytes ? json(*how.decoded_bytes) : json()},
                {"encoding", as_utf8(how.encodings)},
                {"digest", as_utf8(how.digests)},
                {"offset", offset},
                {"attributes", json_of(object.attributes())}};
    if (has_stats) {
        add_numbers(row, object, finder);
    }
    return row;
}

json content_of(const input_set& set, const report_options& options) {
    const std::vector<ztensor::reader>& files = set.files;
    std::uint64_t objects = 0, parameters = 0, stored = 0, bytes = 0, done = 0;
    for (const ztensor::reader& file : files) {
        objects += file.size();
        bytes += file.file_bytes();
        for (const ztensor::object_view object : file) {
            parameters += object.element_count();
            stored += stored_bytes_of(object);
        }
    }
    json tensors = json::array(), findings = json::array();
    const auto add_skipped = [&](ztensor::span<const ztensor::skipped_item> items) {
        for (const ztensor::skipped_item& each : items) {
            findings.push_back("skipped: " + as_utf8(each.name) + ": " + as_utf8(each.why));
        }
    };
    add_skipped(left_out_of(set));
    const scale_finder finder(files);
    progress_line progress;
    for (const ztensor::reader& file : files) {
        for (const ztensor::object_view object : file) {
            progress.show(done, stored, object.name());
            tensors.push_back(row_of(object, options.has_stats, options.takes_raw_values ? nullptr : &finder));
            done += stored_bytes_of(object);
        }
        if (const auto odd = ztensor::lint(file)) {
            for (const ztensor::lint_finding& each : *odd) {
                findings.push_back(std::string(ztensor::name(each.kind)) + ": " + as_utf8(each.object) +
                                   (each.object.empty() ? "" : ": ") + as_utf8(each.sentence));
            }
        }
        add_skipped(file.skipped());
    }
    const ztensor::reader& first = files.front();
    return {{"title", as_utf8(name_of_input(options.path))},
            {"kind", kind_of(first) + (files.size() == 1 ? "" : ", " + grouped(files.size()) + " files")},
            {"summary",
             json::array({json::array({"Tensors", grouped(objects)}), json::array({"Parameters", grouped(parameters)}),
                          json::array({"Stored", human(stored)}),
                          json::array({files.size() == 1 ? "File" : "Files", human(bytes)})})},
            {"tensors", std::move(tensors)},
            {"lint", std::move(findings)},
            {"layout", files.size() == 1 ? json(draw_layout(first, name_of_input(options.path))) : json()},
            {"attributes", files.size() == 1 ? json(json_of(first.attributes())) : json()}};
}

/// In ASCII, and without anything that HTML would take for the end of the script.
std::string embedded(const json& content) {
    const std::string text = content.dump(-1, ' ', true, json::error_handler_t::replace);
    std::string out;
    std::size_t begin = 0;
    for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', begin)) {
        out.append(text, begin, at - begin) += "\\u003c";
        begin = at + 1;
    }
    return out.append(text, begin);
}

exit_code write_report(const report_options& options) {
    const input_set set = open_set(options.path);
    tell_skipped(set);
    const std::string content = embedded(content_of(set, options));
    std::ostringstream out;
    out << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
           "content=\"width=device-width\"><title>zt report</title><style>"
        << report_style << "</style></head><body>" << report_frame << "<script type=\"application/json\" id=\"data\">"
        << content << "</script>\n<script>" << report_script << "</script></body></html>\n";
    save_text(options.out, out.str(), options.path, set.files);
    return good;
}

} // namespace

void add_report(tool& to) {
    const auto options = std::make_shared<report_options>();
    CLI::App* const command =
        add_command(to, "report", "Write a page for a browser: tensors, histograms, layout, findings",
                    "report model.safetensors -o report.html", [options] { return write_report(*options); });
    command->add_option("FILE", options->path, "The file, of any format, or the folder or index of shards")->required();
    command->add_option("-o,--output", options->out, "The page to write")->type_name("FILE.html")->required();
    add_raw_values_option(*command, options->takes_raw_values);
    command->add_flag("!--no-stats", options->has_stats, "Without histograms: no tensor is read");
}

} // namespace zt
