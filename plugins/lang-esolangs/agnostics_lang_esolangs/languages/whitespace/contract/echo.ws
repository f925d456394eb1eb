label-loop
  	
push-0   
get-character	
	 push-0   
retrieve			duplicate 
 jump-if-negative-to-done
			 
put-character	
  jump-to-loop
 
	
label-done
  	 
discard 

end


