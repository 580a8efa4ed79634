// SPDX-License-Identifier: MIT
#include "wording.hpp"

#include "texts.hpp"

namespace zt {
namespace {

struct wording {
    const char* of_library;
    const char* of_zt;
};

/// Longer ones first. tests/tool/test_tool.py looks for every name of C++ in the sentences of the library here.
constexpr wording wordings[] = {
    {"<ztensor/hdf5.hpp> reads it through libhdf5: by open_hdf5(), or by open_any() with read_options::importer()",
     "zt reads it where it is built with libhdf5, as this one is not"},
    {". If they have other names there, read_options::shards(shard_lookup::by_digest) finds them by what they hold",
     ""},
    {"; read_options::follow_links() follows the links of a folder that is trusted", ""},
    {": 0.1 keeps a sparse tensor in one blob, of which csr_view and coo_view make the parts",
     ": 0.1 keeps a sparse tensor in one blob"},
    {", so it is no array of elements: use csr_view or coo_view, or read std::byte", ", so it is no array of elements"},
    {": read_as<float>() or <double> converts them", ""},
    {"; only std::byte can be read", "; only its bytes can be read"},
    {" share bytes: read_as() them", " share bytes"},
    {", or ask for write_options::any_order()", ""},
    {"of write_options::max_manifest_bytes", "that zt writes"},
    {"of write_options::max_components_per_object", "that zt writes"},
    {"more than read_options::max_decoded_bytes, ", "more than the limit of zt, "},
    {"of read_options::max_decoded_bytes", "that zt decodes"},
    {"of read_options::max_manifest_bytes", "that zt reads"},
    {"read_options::max_manifest_bytes allows", "zt allows"},
    {"read_options::max_components_per_object allows", "zt allows"},
    {"read_options::max_objects allows", "zt allows"},
    {"options are told of their version by write_options::version() alone", "--version says the version"},
    {"append() to this one, or copy() what is to stay to another",
     "zt append adds to this one, and zt copy writes what is to stay to another"},
    {"files of version 1.0 are read, but not written: copy() it to another one",
     "files of version 1.0 are read, but not written: zt migrate writes another one"},
    {"recover() the file by that release", "recover the file by zt of that release"},
    {"recover() the file", "zt recover repairs it"},
    {"recover() it", "zt recover repairs it"},
    {"only writer::create knows where shards belong", "shards need the path of a file"},
    {"that http_options::connect_timeout() gives", "that connecting may take"},
    {"that http_options::stall_timeout() gives", "that is waited for a byte"},
    {"than http_options::deadline() gives", "than it may"},
    {"than http_options::redirects() allows", "than is followed"},
    {"none in s3_options, in AWS", "none in AWS"},
    {"; s3_options::anonymous() sends requests without any", ""},
    {"are signed as s3_options say, not by http_options::sign()", "are signed by the keys that were found"},
    {"an HDF5 file: <ztensor/hdf5.hpp> reads it", "an HDF5 file"},
    {"only files of version 2 have a content digest: copy() this one to version 2",
     "only files of version 2 have a content digest: zt migrate --version 2 makes one of this"},
    {": open_any() reads these", ""},
    {": open_any() reads it", ""},
    {": open_any() reads the arrays of NumPy in it", ""},
    {": ask for its components", ""},
    {": quantized_view gives its weights", ""},
    {": use csr_view", ""},
    {": use coo_view", ""},
    {"place for attributes of the file", "place for attributes of the file, which --drop-attributes leaves out"},
    {"place for attributes of a tensor", "place for attributes of a tensor, which --drop-attributes leaves out"},
    {", which is not text", ", which is not text, but which --drop-attributes leaves out"},
    {"has no attributes of the file", "has no attributes of the file, which zt convert --drop-attributes leaves out"},
};

} // namespace

std::string in_words_of_zt(std::string sentence) {
    for (const wording& each : wordings) {
        sentence = replaced(sentence, each.of_library, each.of_zt);
    }
    return sentence;
}

} // namespace zt
