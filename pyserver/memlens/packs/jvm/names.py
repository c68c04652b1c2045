"""Names objects of well-known classes by their fields: threads, class loaders, files, HTTP requests.

A rule is a class and a template, as ``{protocol}://{authority}``. Its parts are fields, with fields of their objects
after dots, or with ``|`` the first of several that is known: the text of a string or of another object that has a name
already, a whole number, or the text in an array of bytes (``text``, ``ip``). A rule names the objects of its class and
of those below it for which all parts are known, those with ``?`` excepted, and that no rule before has named.

So a part alone, as nearly all are, adds no text; other rules add one for each distinct name, up to a limit.

Sources: these classes in OpenJDK, Android, Tomcat, Jetty, JBoss Modules, Equinox, Felix, Undertow and Netty. Their
fields differ from version to version, which is why some have several rules.
"""

import ipaddress
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from memlens.arrays import I64, U32
from memlens.model.graph import NONE
from memlens.packs.jvm.fields import Fields
from memlens.packs.jvm.images import Elements

_JETTY_LOADERS = tuple(
    f"org.{package}.WebAppClassLoader"
    for package in (
        "eclipse.jetty.webapp", "eclipse.jetty.ee8.webapp", "eclipse.jetty.ee9.webapp", "eclipse.jetty.ee10.webapp",
        "eclipse.jetty.ee11.webapp", "mortbay.jetty.webapp",
    )
)  # fmt: skip
_TOMCAT, _COYOTE = "org.apache.catalina.loader.WebappClassLoaderBase", "org.apache.coyote.Request"
_JETTY, _JETTY_12 = "org.eclipse.jetty.server.Request", "org.eclipse.jetty.server.internal.HttpChannelState"
_METHOD = "{methodMB.strValue|methodMB.byteC:text|method}"
_URI, _QUERY = "{uriMB.strValue|uriMB.byteC:text}", "{queryMB.strValue|queryMB.byteC:text}"
_UNDERTOW, _NETTY = "io.undertow.server.HttpServerExchange", "io.netty.handler.codec.http.DefaultHttpRequest"

REQUESTS: tuple[tuple[str, str], ...] = (
    (_COYOTE, f"{_METHOD} {_URI}?{_QUERY}"),
    (_COYOTE, f"{_METHOD} {_URI}"),
    (f"{_JETTY_12}$ChannelRequest", "{_metaData._method} {_metaData._uri._path}?{_metaData._uri._query}"),
    (f"{_JETTY_12}$ChannelRequest", "{_metaData._method} {_metaData._uri._path}"),
    (_JETTY, "{_metaData._method} {_metaData._uri._path}?{_metaData._uri._query}"),
    (_JETTY, "{_metaData._method} {_metaData._uri._path|_metaData._uri._uri}"),
    (_JETTY, "{_metadata._method} {_metadata._uri._uri|_metadata._uri._path}"),
    (_JETTY, "{_method} {_requestURI|_uri._raw:text|_uri._uri|_uri._rawString}"),
    ("org.mortbay.jetty.Request", "{_method} {_requestURI|_uri._raw:text|_uri._rawString}"),
    (_UNDERTOW, "{requestMethod.string} {requestURI}?{queryString}"),
    (_UNDERTOW, "{requestMethod.string} {requestURI}"),
    (_NETTY, "{method.name.string|method.name.value:text|method.name} {uri}"),
    ("sun.net.httpserver.ExchangeImpl", "{method} {uri.string}"),
)
"""HTTP requests that servers handle. A class that Tomcat or Jetty has for the program refers to one of these."""

_OF_PROGRAMS = (
    # class loaders, by the application, module or bundle whose classes they load
    (_TOMCAT, "{resources.context.path|resources.context.docBase|contextName}"),
    *((loader, "{_context._contextPath|_name}") for loader in _JETTY_LOADERS),
    ("org.apache.jasper.servlet.JasperLoader", "JSP of {parent}"),
    ("org.jboss.modules.ModuleClassLoader", "{module.name|module.moduleIdentifier.name}"),
    ("org.eclipse.osgi.internal.loader.ModuleClassLoader", "{generation.revision.symbolicName}"),
    ("org.eclipse.osgi.internal.baseadaptor.DefaultClassLoader", "{manager.data.symbolicName}"),
    ("org.eclipse.core.runtime.adaptor.EclipseClassLoader", "{hostdata.symbolicName}"),
    ("org.apache.felix.framework.BundleWiringImpl$BundleClassLoader", "{m_wiring.m_revision.m_symbolicName}"),
    ("java.lang.ClassLoader", "{name}"),
    *REQUESTS,
    ("org.apache.catalina.connector.Request", "{coyoteRequest}"),
    ("org.apache.catalina.connector.RequestFacade", "{request}"),
    # what a container runs
    ("org.apache.catalina.core.ContainerBase", "{path|name}"),
    ("org.eclipse.jetty.server.handler.ContextHandler", "{_contextPath}"),
    ("org.osgi.framework.Version", "{versionString}"),
    ("ch.qos.logback.classic.Logger", "{name}"),
    ("org.apache.logging.log4j.spi.AbstractLogger", "{name}"),
)

_OF_JAVA = (
    ("java.lang.Thread", "{name}"),
    ("java.lang.ThreadGroup", "{name}"),
    ("java.lang.Enum", "{name}"),
    ("java.lang.Module", "{name}"),
    ("java.lang.Package", "{name|pkgName}"),
    ("java.lang.reflect.Executable", "{clazz}.{name}"),
    ("java.lang.reflect.Method", "{clazz}.{name}"),
    ("java.lang.reflect.Field", "{clazz}.{name}"),
    ("java.lang.reflect.Constructor", "{clazz}"),
    ("java.lang.invoke.MemberName", "{clazz}.{name}"),
    ("java.lang.StackTraceElement", "{declaringClass}.{methodName}({fileName}:{lineNumber})"),
    ("java.lang.StackTraceElement", "{declaringClass}.{methodName}"),
    ("java.lang.AbstractStringBuilder", "{value:text}"),
    ("java.lang.Throwable", "{detailMessage}"),
    ("java.io.File", "{path}"),
    ("java.io.FileInputStream", "{path}"),
    ("java.io.FileOutputStream", "{path}"),
    ("java.io.RandomAccessFile", "{path}"),
    ("java.util.zip.ZipFile", "{name}"),
    ("sun.nio.fs.UnixPath", "{stringValue|path:text}"),
    ("sun.nio.fs.WindowsPath", "{path}"),
    ("java.net.URI", "{string}"),
    ("java.net.URI", "{scheme}://{authority}{path?}"),
    ("java.net.URL", "{protocol}://{authority}{file?}"),
    ("java.net.URL", "{protocol}:{file}"),
    ("java.net.InetAddress", "{holder.hostName|hostName}"),
    ("java.net.Inet4Address", "{holder.address:ip|address:ip}"),
    ("java.net.Inet6Address", "{holder6.ipaddress:ip|ipaddress:ip}"),
    ("java.net.InetSocketAddress", "{holder.hostname|holder.addr|hostname|addr}:{holder.port|port}"),
    ("sun.nio.ch.SocketChannelImpl", "{localAddress} to {remoteAddress}"),
    ("java.nio.charset.Charset", "{name}"),
    ("java.util.Currency", "{currencyCode}"),
    ("java.util.Locale", "{languageTag}"),
    ("java.util.Locale", "{baseLocale.language}_{baseLocale.region}"),
    ("java.util.Locale", "{baseLocale.language}"),
    ("sun.util.locale.BaseLocale", "{language}_{region}"),
    ("sun.util.locale.BaseLocale", "{language}"),
    ("java.util.TimeZone", "{ID}"),
    ("java.util.regex.Pattern", "{pattern}"),
    ("java.util.logging.Logger", "{name}"),
    ("java.util.logging.Level", "{name}"),
    ("java.util.Optional", "{value}"),
    ("java.util.concurrent.atomic.AtomicReference", "{value}"),
    # Android's
    ("android.content.ComponentName", "{mPackage}/{mClass}"),
    ("android.app.Activity", "{mComponent}"),
    ("android.net.Uri$StringUri", "{uriString}"),
    ("android.net.Uri$HierarchicalUri", "{scheme}://{authority.encoded|authority.decoded}{path.encoded?}"),
)

RULES: tuple[tuple[str, str], ...] = (*_OF_JAVA[:1], *_OF_PROGRAMS, *_OF_JAVA[1:])
"""Classes and templates. Names in templates may be those that a rule before has given."""

_PART = re.compile(r"\{([^{}?]+)(\??)\}")
_ABSENT = -(1 << 62)
_MOST_TEXTS = 100_000
"""Names and texts in arrays that one rule adds; objects beyond them have none."""
_MOST_BYTES = 256


class _Objects(NamedTuple):
    """The objects and names that rules read and write."""

    names: U32
    fields: Fields
    elements: Elements
    text: Callable[[int], str]
    named: Callable[[str], int]


def add_names(
    names: U32, fields: Fields, elements: Elements, text: Callable[[int], str], named: Callable[[str], int]
) -> None:
    """Name objects, changing ``names`` in place, which has those of strings and classes.

    ``text`` returns a text by its number, ``named`` the number of a text, which is made where there is none.
    """
    heap = _Objects(names, fields, elements, text, named)
    for name, template in RULES:
        chosen = fields.instances(name)
        chosen = chosen[names[chosen] == 0]
        if len(chosen):
            names[chosen] = _named(heap, chosen, template)


def _named(heap: _Objects, chosen: I64, template: str) -> U32:
    """The text of each of some objects, 0 for those of which a part isn't known."""
    parts = list(_PART.finditer(template))
    columns = [_part(heap, chosen, part[1]) for part in parts]
    known = np.ones(len(chosen), np.bool_)
    for part, column in zip(parts, columns, strict=True):
        if not part[2]:
            known &= column != 0
    if template == parts[0][0]:
        return columns[0]
    rows = np.flatnonzero(known)
    first, of = _distinct([column[rows] for column in columns])
    literals = _PART.sub("\0", template).split("\0")
    texts = np.zeros(len(first), np.uint32)
    numbers = zip(*(column[rows[first[:_MOST_TEXTS]]].tolist() for column in columns), strict=True)
    for place, each in enumerate(numbers):
        words = (part for pair in zip(map(heap.text, each), literals[1:], strict=True) for part in pair)
        texts[place] = heap.named(literals[0] + "".join(words))
    found = np.zeros(len(chosen), np.uint32)
    found[rows] = texts[of]
    return found


def _distinct(columns: list[U32]) -> tuple[I64, I64]:
    """The first of each distinct row of some columns, and which of these each row is."""
    first, of = np.unique(columns[0], return_index=True, return_inverse=True)[1:]
    for column in columns[1:]:
        # both halves of the key are numbers of 32 bits
        first, of = np.unique(of << 32 | column, return_index=True, return_inverse=True)[1:]
    return first, of


def _part(heap: _Objects, chosen: I64, part: str) -> U32:
    """The text of the first of several fields that is known."""
    found = np.zeros(len(chosen), np.uint32)
    for each in part.split("|"):
        left = np.flatnonzero(found == 0)
        if len(left):
            path, _, form = each.partition(":")
            found[left] = _at(heap, chosen[left], path, form)
    return found


def _at(heap: _Objects, chosen: I64, path: str, form: str) -> U32:
    *above, last = path.split(".")
    for field in above:
        chosen = heap.fields.targets(chosen, field, inherited=True)
    targets = heap.fields.targets(chosen, last, inherited=True)
    found = np.zeros(len(chosen), np.uint32)
    referring = targets != NONE
    found[referring] = heap.names[targets[referring]]
    if form:
        rows = np.flatnonzero(referring & (found == 0))[:_MOST_TEXTS]
        found[rows] = _texts_in(heap, chosen[rows], targets[rows], form)
    numbers = heap.fields.integers(chosen, last, absent=_ABSENT)
    rows = np.flatnonzero(~referring & (numbers != _ABSENT))
    if len(rows):
        distinct, of = np.unique(numbers[rows], return_inverse=True)
        texts = np.zeros(len(distinct), np.uint32)
        for place, number in enumerate(distinct[:_MOST_TEXTS].tolist()):
            texts[place] = heap.named(
                _ip(number.to_bytes(8, signed=True)[4:]) if form == "ip" else str(number)
            )
        found[rows] = texts[of]
    return found


def _texts_in(heap: _Objects, owners: I64, targets: I64, form: str) -> U32:
    """The texts in arrays of bytes or characters, or in chunks of them as Tomcat has (``buff``, ``start``, ``end``).

    In the array of a string builder only the first ``count`` characters are text.
    """
    fields, arrays = heap.fields, targets.copy()
    chunks = fields.targets(targets, "buff", inherited=True)
    is_chunk = chunks != NONE
    arrays[is_chunk] = chunks[is_chunk]
    starts = np.where(is_chunk, fields.integers(targets, "start"), 0)
    counts = fields.integers(owners, "count", absent=_ABSENT)
    wide = fields.integers(owners, "coder") == 1
    counts = np.where(counts == _ABSENT, 1 << 40, np.where(wide, 2 * counts, counts))
    ends = np.where(is_chunk, fields.integers(targets, "end"), counts)
    is_chars = fields.types("char[]")[fields.type_of[arrays]]
    offsets, sizes = heap.elements.places(arrays)
    found = np.zeros(len(targets), np.uint32)
    rows = zip(
        starts.tolist(),
        ends.tolist(),
        offsets.tolist(),
        sizes.tolist(),
        wide.tolist(),
        is_chars.tolist(),
        strict=True,
    )
    for place, (start, end, offset, size, is_wide, has_chars) in enumerate(rows):
        width = 2 if has_chars else 1
        first, last = min(max(start, 0) * width, size), min(max(end, 0) * width, size)
        content = bytes(heap.elements.data[offset + first : offset + min(last, first + _MOST_BYTES)])
        said = (
            _ip(content)
            if form == "ip"
            else _decoded(content, "utf-16-be" if has_chars else "utf-16-le" if is_wide else "utf-8")
        )
        if last - first > _MOST_BYTES:
            said += "…"
        found[place] = heap.named(said) if said else 0
    return found


def _decoded(content: bytes, coding: str) -> str:
    """A text; "" for zeros, as in a dump whose values were removed."""
    return content.decode(coding, "replace") if any(content) else ""


def _ip(content: bytes) -> str:
    if len(content) not in (4, 16) or not any(content):
        return ""
    return str(ipaddress.ip_address(content))
