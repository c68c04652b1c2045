import java.io.File;
import org.netbeans.lib.profiler.heap.Heap;
import org.netbeans.lib.profiler.heap.HeapFactory;
import org.netbeans.lib.profiler.heap.Instance;
import org.netbeans.lib.profiler.heap.JavaClass;

/** Lets NetBeans' profiler library compute the retained sizes of a heap dump, its argument. */
public final class NetBeansDominators {
    public static void main(String[] arguments) throws Exception {
        Heap heap = HeapFactory.createHeap(new File(arguments[0]));
        JavaClass strings = heap.getJavaClassByName("java.lang.String");
        // the first question for a retained size computes them all
        Instance one = (Instance) strings.getInstances().get(0);
        System.out.println(heap.getSummary().getTotalLiveInstances() + " objects, " + one.getRetainedSize());
    }
}
