import java.io.BufferedWriter;
import java.io.File;
import java.io.FileWriter;
import java.util.Iterator;
import org.netbeans.lib.profiler.heap.Heap;
import org.netbeans.lib.profiler.heap.HeapFactory;
import org.netbeans.lib.profiler.heap.Instance;

/** Writes what NetBeans' profiler library says of each object of a heap dump: address, size, retained size. */
public final class NetBeansRetained {
    public static void main(String[] arguments) throws Exception {
        Heap heap = HeapFactory.createHeap(new File(arguments[0]));
        try (BufferedWriter out = new BufferedWriter(new FileWriter(arguments[1]))) {
            for (Iterator<?> all = heap.getAllInstancesIterator(); all.hasNext(); ) {
                Instance each = (Instance) all.next();
                out.write(each.getInstanceId() + " " + each.getSize() + " " + each.getRetainedSize() + "\n");
            }
        }
    }
}
