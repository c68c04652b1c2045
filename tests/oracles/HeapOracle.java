import java.io.BufferedWriter;
import java.io.File;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.netbeans.lib.profiler.heap.Heap;
import org.netbeans.lib.profiler.heap.HeapFactory;
import org.netbeans.lib.profiler.heap.Instance;
import org.netbeans.lib.profiler.heap.JavaClass;

/**
 * What NetBeans' profiler library makes of a heap dump, for tests/oracles/heap_oracle.py.
 *
 * <p>Arguments: the dump, and the file to write. Its lines are "class NAME COUNT BYTES" with what tells classes apart,
 * "object ID BYTES RETAINED" and "root ID KIND".
 */
public final class HeapOracle {
    public static void main(String[] arguments) throws Exception {
        Heap heap = HeapFactory.createHeap(new File(arguments[0]));
        try (BufferedWriter file = Files.newBufferedWriter(Path.of(arguments[1])); PrintWriter out = new PrintWriter(file)) {
            for (JavaClass each : (List<JavaClass>) heap.getAllClasses()) {
                out.printf("class %s %d %d%n", each.getName(), each.getInstancesCount(), each.getAllInstancesSize());
            }
            for (JavaClass each : (List<JavaClass>) heap.getAllClasses()) {
                for (Instance one : (List<Instance>) each.getInstances()) {
                    out.printf("object %d %d %d%n", one.getInstanceId(), one.getSize(), one.getRetainedSize());
                }
            }
            heap.getGCRoots().forEach(root -> out.printf(
                "root %d %s%n",
                ((org.netbeans.lib.profiler.heap.GCRoot) root).getInstance().getInstanceId(),
                ((org.netbeans.lib.profiler.heap.GCRoot) root).getKind().replace(' ', '_')));
        }
    }
}
