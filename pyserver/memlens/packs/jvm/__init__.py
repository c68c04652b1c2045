"""The world of the Java virtual machine: heap dumps (HPROF) of Java and of Android, processes, whose code files are."""

import re

from msgspec.structs import replace

from memlens.packs.api import (
    NOTHING,
    Classes,
    CollectionTypes,
    Declarations,
    FilterTerm,
    Format,
    Language,
    Launch,
    Message,
    NextTime,
    Objects,
    Pack,
    Part,
    Platform,
    Proof,
    RecordingKind,
    Rule,
    RuntimeKind,
    Scopes,
    Texts,
)
from memlens.texts import phrase

_HERE = "memlens.packs.jvm"
_WITH_VALUE = (
    "-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules",
    "--add-opens", "--add-exports", "--add-reads", "--limit-modules", "--enable-native-access",
)  # fmt: skip

_BOXES = ("Boolean", "Byte", "Character", "Short", "Integer", "Long", "Float", "Double")

DECLARATIONS = Declarations(
    language="jvm",
    suffixes=(".java", ".kt", ".scala", ".groovy"),
    type_name=Part(f"{_HERE}.declared:type_name"),
    name_of_frame=Part(f"{_HERE}.declared:name_of_frame"),
    libraries=Part(f"{_HERE}.jars"),
    # Kotlin's
    whole_file="Kt",
)
OBJECTS = Objects(
    runtime="Java",
    declarations=DECLARATIONS,
    requests=frozenset(
        (
            "org.apache.coyote.Request",
            "org.apache.catalina.connector.Request",
            "org.apache.catalina.connector.RequestFacade",
            "org.eclipse.jetty.server.Request",
            "org.eclipse.jetty.server.internal.HttpChannelState$ChannelRequest",
            "org.mortbay.jetty.Request",
            "io.undertow.server.HttpServerExchange",
            "io.netty.handler.codec.http.DefaultHttpRequest",
            "io.netty.handler.codec.http.DefaultFullHttpRequest",
            "sun.net.httpserver.ExchangeImpl",
        )
    ),
    named_references=("next", "key"),
    thread_values=Part(f"{_HERE}.thread_locals"),
    exhausted=Part(f"{_HERE}.exhausted:ran_out_of"),
    without_pixels=Part(f"{_HERE}.images:without_pixels"),
    terms=(FilterTerm(begins="is:softly-reachable", finds="reached by soft references only (Java)"),),
    platform=Platform(
        packages=re.compile(
            r"(java|javax|jdk|sun|com\.sun|kotlin|kotlinx|scala|android|androidx|com\.android|dalvik|libcore)(\.|$)"
        ),
        is_managed=True,
        has_boot_loader=True,
        # of Android
        shared_spaces=frozenset(("zygote", "image", "boot image")),
    ),
    collections=CollectionTypes(
        # of hash maps, sets of them, trees and lists
        entries=re.compile(
            r"(?:\.map)?\.table\[\d+\](?:\.next)*\.(?:val|value|key)(?!\w)"
            r"|(?:\.m)?\.root(?:\.left|\.right)*\.(?:value|key)(?!\w)|\.elementData\[\d+\]"
        ),
        types=re.compile(
            r"(?:java\.util|kotlin\.collections|scala\.collection|androidx?\.(?:util|collection))\."
            r"[\w.`]+(?![\w.`$+])(?!.*\[\])"
        ),
        package="java.util.",
    ),
    texts=Texts(
        strings=frozenset(("java.lang.String",)),
        boxes=frozenset(f"java.lang.{name}" for name in _BOXES),
    ),
    scopes=Scopes(
        thread_locals=re.compile(r"java\.lang\.ThreadLocal\$(?:ThreadLocalMap\$Entry|Values)"),
        generated=re.compile(r"\$Proxy\d+$|\$\$"),
        has_static_fields=True,
    ),
    classes=Classes(
        types=frozenset(("java.lang.Class",)),
        says_superclasses=True,
        unstable_names=(
            r"(\$\$Lambda)(?:\$\d+)?(?:[+/.](?:0x)?[0-9a-fA-F]+)?(?![\w$])",
            r"(\bGenerated(?:Method|Constructor|SerializationConstructor)Accessor)\d+\b",
            r"(\bLambdaForm\$[A-Z]+[$/])\d+\b",
            r"(\$Proxy|\bjdk\.proxy)\d+\b",
            # what CGLIB, Byte Buddy, Hibernate, Mockito and Javassist make; the last ones are random
            r"(\$\$(?:Enhancer|FastClass|KeyFactory)By[A-Za-z]+\$\$)[0-9a-f]+(?:_\d+)?\b",
            r"(\$(?:ByteBuddy|HibernateProxy|HibernateBasicProxy|MockitoMock)\$)\w+",
            r"(_\$\$_(?:jvst|javassist_))[0-9a-f]+(?:_[0-9a-f]+)?\b",
        ),
    ),
)
"""Of Java's classes, which Android's runtime has as well."""

PACK = Pack(
    name="jvm",
    title="Java",
    language=Language(
        suffixes=(".java", ".kt"),
        packaged=(".java", ".kt", ".scala", ".groovy", ".clj"),
        package_names=("java", "javax", "jdk", "sun", "kotlin", "android"),
    ),
    libraries=("jvm",),
    allocation_functions=True,
    core_advice=phrase("For a Java program: jhsdb jmap --binaryheap --core FILE --exe java"),
    # apps of Android have a manifest of Java's as well
    zip_files=(
        ("AndroidManifest.xml", phrase("it is an Android app")),
        ("META-INF/MANIFEST.MF", phrase("it is a Java archive")),
    ),
    formats=(
        Format(
            name="hprof",
            title="heap dump of Java or Android",
            label="HPROF",
            reader=Part(f"{_HERE}.hprof"),
            file_names=("*.hprof", "*.hprof.gz", "*.hprof.zst"),
            beginning=b"JAVA PROFILE 1.0.",
            is_mapped=True,
            objects=replace(
                OBJECTS,
                contents=Part(f"{_HERE}.inside"),
                has_examples=True,
                texts=replace(
                    OBJECTS.texts,
                    most_bytes=3_072,
                    has_empty_strings=True,
                ),
                collections=replace(
                    OBJECTS.collections,
                    sizes=Part(f"{_HERE}.collection_sizes:sizes"),
                ),
            ),
            redaction=Part(f"{_HERE}.redaction"),
            proof=Proof(
                recognises=Part(f"{_HERE}.proof.reader:recognises"),
                reader=Part(f"{_HERE}.proof.reader:HprofReader"),
            ),
        ),
        Format(
            name="jfr",
            title="recording of Java Flight Recorder",
            label="JFR",
            file_names=("*.jfr", "*.jfr.gz", "*.jfr.zst"),
            beginning=b"FLR\0",
            several=phrase("recordings of Java Flight Recorder"),
            reader=Part(f"{_HERE}.flight.reader"),
            declarations=DECLARATIONS,
            not_redacted=(
                phrase(
                    "Recordings of Java Flight Recorder have command lines, environment variables, properties and "
                    "names, in a format that Memlens can't write"
                ),
                NOTHING,
            ),
        ),
    ),
    rules=(
        Rule(
            findings=("sampled_leak",),
            find=Part(f"{_HERE}.flight.findings:sampled_leak"),
            model="profile",
        ),
        Rule(findings=("class_loaders",), find=Part(f"{_HERE}.loaders:class_loaders"), model="graph"),
        Rule(
            findings=("weak_references",),
            find=Part(f"{_HERE}.weak_references:weak_references"),
            model="graph",
        ),
        Rule(
            findings=("tiny_collections",),
            find=Part(f"{_HERE}.tiny_collections:tiny_collections"),
            model="graph",
            of_waste=True,
        ),
        Rule(
            findings=("oversized_collections",),
            find=Part(f"{_HERE}.slots:oversized_collections"),
            model="graph",
            of_waste=True,
        ),
        Rule(
            findings=("null_arrays",), find=Part(f"{_HERE}.slots:null_arrays"), model="graph", of_waste=True
        ),
        Rule(
            findings=("zero_arrays",), find=Part(f"{_HERE}.slots:zero_arrays"), model="graph", of_waste=True
        ),
        Rule(
            findings=("hash_collisions",),
            find=Part(f"{_HERE}.buckets:hash_collisions"),
            model="graph",
            of_waste=True,
        ),
    ),
    runtimes=(
        # its programs have the names of HotSpot's, and load a libjvm.so as well
        RuntimeKind(
            name="openj9",
            title="OpenJ9",
            programs=re.compile(r"(?!)"),
            libraries=re.compile(r"libj9vm\d+\.so"),
            advice=phrase("Its virtual machine can't write HPROF files; run the program on HotSpot."),
        ),
        RuntimeKind(
            name="java",
            title="Java",
            programs=re.compile(r"javaw?"),
            libraries=re.compile(r"libjvm\.so"),
            ending=".hprof",
            dump=Part(f"{_HERE}.dumping:write"),
            record=Part(f"{_HERE}.flight.recording:record"),
            recordings=(
                RecordingKind(
                    title=phrase("Samples, and what holds what is alive"),
                    detail=phrase(
                        "Java Flight Recorder: which lines allocate, and what holds a sample of the objects that "
                        "are alive"
                    ),
                    ending=".jfr",
                    sampling=True,
                ),
            ),
            can_write_garbage=True,
            tools=("java", "jcmd"),
            with_value=frozenset(_WITH_VALUE),
        ),
    ),
    launches=(
        Launch(
            name="java",
            records=phrase("Java: a heap dump when its heap is full"),
            programs=re.compile(r"javaw?|mvnw?|gradlew?|sbt"),
            variables=Part(f"{_HERE}.launching:variables"),
        ),
    ),
    messages=(
        Message(
            name="java-out-of-memory",
            title=phrase("Java's OutOfMemoryError"),
            signs=("java.lang.OutOfMemoryError", "OutOfMemory encountered: "),
            read=Part(f"{_HERE}.messages:out_of_memory_error"),
        ),
        Message(
            name="java-hs-err",
            title=phrase("hs_err files of a virtual machine that could not get memory"),
            signs=("There is insufficient memory for the Java Runtime Environment",),
            read=Part(f"{_HERE}.messages:hs_err"),
        ),
        Message(
            name="java-native-memory",
            title=phrase("Java's Native Memory Tracking"),
            signs=("Total: reserved=",),
            read=Part(f"{_HERE}.messages:native_memory"),
        ),
        Message(
            name="java-crash",
            signs=("A fatal error has been detected by the Java Runtime Environment",),
            read=Part(f"{_HERE}.messages:crash"),
        ),
        Message(
            name="java-stack",
            signs=("java.lang.StackOverflowError",),
            read=Part(f"{_HERE}.messages:no_stack"),
        ),
    ),
    next_time=NextTime(
        programs=re.compile(r"javaw?"),
        section="Java",
        recording="java -XX:+HeapDumpOnOutOfMemoryError -XX:HeapDumpPath=/var/tmp -XX:MaxRAMPercentage=75 -jar app.jar",
        leaves=phrase(
            "It writes java_pid*.hprof when the heap is full, which Memlens opens at the thread that ran out."
        ),
    ),
)
