#include "cluster/local/kubelet/spdy_dictionary.h"

#include <algorithm>
#include <string_view>

namespace cluster::local {

namespace {

// The likely words come first, each as in a header block: a length of four bytes, then the text.
constexpr std::string_view words
    = "options|head|post|put|delete|trace|accept|accept-charset|accept-encoding|accept-language|a"
      "ccept-ranges|age|allow|authorization|cache-control|connection|content-base|content-encodin"
      "g|content-language|content-length|content-location|content-md5|content-range|content-type|"
      "date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-un"
      "modified-since|last-modified|location|max-forwards|pragma|proxy-authenticate|proxy-authori"
      "zation|range|referer|retry-after|server|te|trailer|transfer-encoding|upgrade|user-agent|va"
      "ry|via|warning|www-authenticate|method|get|status|200 OK|version|HTTP/1.1|url|public|set-c"
      "ookie|keep-alive|origin";

// Then text without lengths: status codes, dates and content types.
constexpr std::string_view tail
    = "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
      "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Una"
      "uthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service"
      " UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, "
      "Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,applicat"
      "ion/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf"
      "-8charset=iso-8859-1,utf-,*,enq=0.";

std::string built()
{
    std::string text;
    std::string_view rest = words;
    while (!rest.empty()) {
        const std::string_view word = rest.substr(0, rest.find('|'));
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
        text.append(3, '\0'); // no word has more than 255 letters
        text += static_cast<char>(word.size());
        text += word;
    }
    text += tail;
    return text;
}

} // namespace

const std::string &spdyDictionary()
{
    static const std::string text = built();
    return text;
}

} // namespace cluster::local
