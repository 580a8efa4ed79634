// SPDX-License-Identifier: MIT
//
// What subcommands read: a file of any format that the library opens.
#ifndef ZTENSOR_EXAMPLES_ZT_INPUT_HPP
#define ZTENSOR_EXAMPLES_ZT_INPUT_HPP

#include <ztensor/import.hpp>
#include <ztensor/ztensor.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace zt {

/// How what is to be handed on is read. What does not match its digest is refused unless told otherwise.
struct input_options {
    bool takes_damaged = false;

    void add_options(CLI::App& command);
};

/// Whether it names a file on another machine, such as "https://host/model.zt".
[[nodiscard]] bool is_url(std::string_view path);

/// What an input is called in all that zt prints and writes, not escaped: its path, or the URL without what may be a
/// secret, which are user info, query and fragment.
[[nodiscard]] std::string name_of_input(const std::string& path);

/// Of a command that is for one file: throws content_error if the path is that of a folder or an index of shards.
void require_one_file(const std::string& path);

/// Of a command that changes a file where it is: throws content_error if the path is that of a pipe, too.
void require_changeable(const std::string& path);

/// The one place where files are opened for reading: one of them. Throws content_error and ztensor::exception.
ztensor::reader open_input(const std::string& path, const input_options& options = {});

/// What may be several files, at least one: each by itself, and all as one, which knows what is left out of a folder.
struct input_set {
    ztensor::reader all;
    std::vector<ztensor::reader> files;
};

/// Opens the shards of a model, by their folder or index, or of one file.
input_set open_set(const std::string& path, const input_options& options = {});

/// The files of such a set.
std::vector<ztensor::reader> open_inputs(const std::string& path, const input_options& options = {});

/// Writes a page or a picture of what was read at `path` from `files`, whole or not at all. Throws usage_error if `out`
/// is one of these, and std::runtime_error.
void save_text(const std::string& out, const std::string& text, const std::string& path,
               const std::vector<ztensor::reader>& files);

/// Of a command whose output can't take the place of what is read: throws usage_error if `out` is `path` or one of
/// `files`.
void require_other_file(const std::string& out, const std::string& path, const std::vector<ztensor::reader>& files);

/// Tells on the standard error what is left out of the set, and what its files hold that is not among their objects: a
/// line each and a count, and which files of other formats have no objects at all. True if there is anything to tell.
bool tell_skipped(const input_set& set);

/// What is left out of the set itself: files of a folder, and objects of its files.
ztensor::span<const ztensor::skipped_item> left_out_of(const input_set& set);

/// Tells on the standard error which selected bools of other formats are stored as bytes other than 0 and 1, of which
/// copies have 1. `takes` says what is selected.
void tell_changed_bools(const std::vector<ztensor::reader>& files,
                        const std::function<bool(const ztensor::object_view&)>& takes);

/// What a file is, such as "zTensor 1.2" or "gguf".
std::string kind_of(const ztensor::reader& file);

/// As the file was asked for, printable.
std::string path_of(const ztensor::reader& file);

/// Objects in files of which each name is in one.
const ztensor::reader* find_file(const std::vector<ztensor::reader>& files, std::string_view name);

/// What each name is in: the files of a set have thousands.
using file_map = std::unordered_map<std::string_view, const ztensor::reader*>;
file_map files_by_name(const std::vector<ztensor::reader>& files);

/// Stored bytes of all components.
std::uint64_t stored_bytes_of(const ztensor::object_view& object);

/// The components, or of a tensor in planes the elements that both of them make.
std::vector<ztensor::component_view> parts_of(const ztensor::object_view& object);

/// How such a part is stored, in a word.
std::string encoding_of(const ztensor::object_view& object, const ztensor::component_view& part);

/// The elements of an object that have a place in its shape: those of a dense one, the values of a sparse one.
ztensor::result<ztensor::component_view> elements_of(const ztensor::object_view& object);

bool is_sparse(const ztensor::object_view& object);

/// The values of a sparse object where they have a component, or all that 0.1 keeps in one.
ztensor::result<ztensor::component_view> values_of(const ztensor::object_view& sparse);

/// Whether a path ends so, in letters of any case.
bool has_ending(std::string_view path, std::string_view ending);

/// The logical type, or the storage type where there is none.
std::string type_of(const ztensor::component_view& component);

/// What the elements of an object are in a word, such as "f32", "q8_0" or "int4".
std::string type_of(const ztensor::object_view& object);

/// How an object is stored, whatever it is made of.
struct storage_words {
    std::string encodings; ///< each once, with commas
    std::string digests;   ///< algorithms, likewise
    bool is_raw = true;
    std::optional<std::uint64_t> decoded_bytes = 0; ///< nothing where it is not known of a part
};
storage_words storage_of(const ztensor::object_view& object);

} // namespace zt

#endif
