import java.io.File;
import java.util.List;
import shark.CloseableHeapGraph;
import shark.FileSourceProvider;
import shark.HprofHeapGraph;
import shark.HprofRecordTag;
import shark.internal.ObjectDominators;

/** Lets LeakCanary's shark build the dominator tree of a heap dump, its argument. */
public final class SharkDominators {
    public static void main(String[] arguments) throws Exception {
        try (CloseableHeapGraph graph = HprofHeapGraph.Companion.openHeapGraph(
                new FileSourceProvider(new File(arguments[0])), null, HprofRecordTag.Companion.getRootTags())) {
            // as short as it can be: only what retains more than that is printed
            String tree = new ObjectDominators().renderDominatorTree(graph, List.of(), 100_000_000, null, false);
            System.out.println(tree.length());
        }
    }
}
