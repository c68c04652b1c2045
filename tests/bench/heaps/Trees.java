import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.util.JavacTask;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Parses files of a JDK's sources, keeps their trees and dumps its heap: src.zip, how many files, the dump. */
public final class Trees {
    static Object kept;

    static final class Source extends SimpleJavaFileObject {
        final String text;

        Source(String name, String text) {
            super(URI.create("string:///" + name), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignored) {
            return text;
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<JavaFileObject> files = new ArrayList<>();
        try (ZipFile sources = new ZipFile(arguments[0])) {
            for (ZipEntry each : sources.stream().filter(Trees::isWanted).limit(Long.parseLong(arguments[1])).toList()) {
                files.add(new Source(each.getName(), new String(sources.getInputStream(each).readAllBytes(), StandardCharsets.UTF_8)));
            }
        }
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        JavacTask task = (JavacTask) compiler.getTask(new PrintWriter(OutputStream.nullOutputStream()), null, each -> {}, List.of("-proc:none"), null, files);
        List<CompilationUnitTree> units = new ArrayList<>();
        task.parse().forEach(units::add);
        kept = new Object[] {task, units};
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(arguments[2], true);
    }

    static boolean isWanted(ZipEntry each) {
        return each.getName().endsWith(".java") && !each.getName().endsWith("module-info.java");
    }
}
